// The free space that a head keeps for requests that free room.
//
// Even a request that only deletes needs room: its outcome is an object, stored
// in the same transaction, while the deleted objects' space becomes free only
// once the chain has completed the request. So a heap that is full to the last
// byte could not be emptied. The head therefore keeps the last free space as
// the reserve. How much of it a request may take depends on what the request
// has done:
//
//   the request                                     may leave of the reserve
//   frees more than it takes, its outcome included  nothing
//   frees more than it takes, its outcome left out  a quarter
//   changes no object, or opens a narrow session    half
//   any other                                       all
//
// The part of a result beyond the room of an outcome counts as taken.
//
// A request of the first kind gives back more than it takes. So the space that
// the other kinds must leave lasts until nothing is left to delete. The head's
// own mutations, which drop outcomes or close sessions, are not limited, except
// those that store objects of a backup: no client of a restored cluster has a
// stored outcome, so no client could delete anything in a heap that a restore
// has filled.
//
// While the reserve lacks pages, the head refuses a request that takes more
// than it frees until four times the reserve is free, in pieces of any size.
// Otherwise such requests would fill the small pieces that deletes leave, and
// these would never merge to pages again.
//
// The head checks a request after its execution and before the commit. It rolls
// back one that took too much, and answers REASON_HEAP_FULL; the chain never
// sees that request. Only the head decides: a replica takes the blocks that the
// log names, and media have no trace of a reserve. In a heap with less free
// space than its reserve, such as one that an older release has filled, the
// reserve fills up as objects are deleted.
#ifndef KAMINO_HEAD_RESERVE_H_
#define KAMINO_HEAD_RESERVE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "replica/log/log_entry.h"
#include "replica/request_meter.h"

namespace kamino::head {

// The reserve of a heap that has `bytes_total` for objects: 1/32 of it, or 1/16
// up to 32 KiB if that is more, at most 1 MiB, in whole pages of the index.
// Freed blocks of other objects seldom make a page, so the number of pages
// bounds how many new clients can delete before other space comes back.
//
// The outcome of a client that had none takes 160 bytes on average, its share
// of the pages of the index included (tests/head/reserve_test.cc measures it).
// So three quarters of 1 MiB are enough for 4,900 deletes by such clients whose
// objects are too small to make up for that. That is more than twice the 2,048
// deletes that can be under way at once, whose space is not free yet.
uint64_t ReserveBytes(uint64_t bytes_total);

enum class RoomUse {
  kTakes,     // any other
  kSettles,   // changes no object, or opens a narrow session
  kFrees,     // frees more than it takes, its outcome left out
  kPaysBack,  // its outcome included; or it is the head's own, and no backup's
};

// Classifies an executed mutation. `room`: taken and freed by its function.
// `result_bytes`: heap bytes that its result takes beyond the room of an
// outcome.
RoomUse RoomUseOf(const replica::Mutation& mutation,
                  const replica::RoomTaken& room, size_t result_bytes);

// Whether a request of that kind may leave only `left` bytes of a reserve of
// `kept`.
bool MayLeave(RoomUse use, uint64_t left, uint64_t kept);

// Not OK: the executed request has taken room of the reserve that it may not
// use, and must be rolled back. `result_bytes` as above. `before`: the reserve
// when its execution began.
absl::Status CheckReserve(const engine::Heap& heap,
                          const replica::Mutation& mutation,
                          const replica::RoomTaken& room, size_t result_bytes,
                          const engine::HeapReserve& before);

// The room of a head's heap.
struct HeapRoom {
  uint64_t free = 0;           // bytes, the reserve included
  uint64_t reserve = 0;        // bytes that the head keeps
  uint64_t reserve_whole = 0;  // of these, free in pieces of a page or more
  // No page is free beside the reserve: the head refuses requests that need
  // one, and any that takes room once the smaller pieces are used.
  bool is_full = false;
};
HeapRoom RoomOf(const engine::Heap& heap);

// Whether the head's own mutation stores objects of a backup.
bool BringsBackup(const replica::Mutation& mutation);

// Whether the head's own mutation opens a session.
bool OpensSession(const replica::Mutation& mutation);

// The most slots of a session that is opened with room of the reserve only.
inline constexpr uint32_t kNarrowWindow = 32;
// Limits the session that the mutation opens to so many.
void NarrowWindow(replica::Mutation* mutation);

}  // namespace kamino::head

#endif  // KAMINO_HEAD_RESERVE_H_
