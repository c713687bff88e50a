// The free space that a head keeps for requests that free some.
//
// Also a request that only deletes needs room: its outcome is an object, which
// is stored in the same transaction, while what the request frees is not free
// before the chain has completed it. So a heap that is full to the last byte
// could not be emptied. The head therefore keeps the last free space, the
// reserve, and lets a request take from it by what the request has done:
//
//   the request                                     may leave of the reserve
//   frees more than it takes, its outcome included  nothing
//   frees more than it takes, its outcome left out  a quarter
//   changes no object, or opens a narrow session    half
//   any other                                       all
//
// A result that does not fit the room of an outcome counts as taken.
//
// Space that the first kind takes comes back; so what the others leave to it is
// there for as long as something is left to delete. The head's own mutations,
// which drop outcomes or close sessions, are not limited, but for the objects
// of a backup: no client of a restored cluster has a stored outcome, so none
// could delete anything in a heap that a restore has filled.
//
// While the reserve lacks pages, a request that takes more than it frees is
// refused until four times the reserve is free, in pieces of any size: else it
// would fill the small pieces that deletes leave, and no page would come back.
//
// That is known once the request was executed, and before the commit: one that
// took too much is taken back, and answered with REASON_HEAP_FULL. The chain
// never sees it. Only the head decides; a replica takes the blocks that the log
// names, and the heap has no trace of a reserve. A heap that has less free
// space than its reserve, as one that an older release has filled, is used as
// it is: the reserve fills up as objects are deleted.
#ifndef KAMINO_HEAD_RESERVE_H_
#define KAMINO_HEAD_RESERVE_H_

#include <cstddef>
#include <cstdint>

#include "engine/heap/heap.h"
#include "replica/log_entry.h"
#include "replica/request_meter.h"

namespace kamino::head {

// The reserve of a heap that has `bytes_total` for objects: 1/32 of it, at most
// 1 MiB, in pages of the index; 1/16 of it as long as that is not over 32 KiB.
// Freed blocks of other objects seldom make a page, so the number of pages
// bounds how many new clients can delete before other space comes back.
//
// The outcome of a client that had none takes 160 bytes on average, its share
// of the pages of the index included (tests/head/reserve_test.cc measures it).
// So three quarters of 1 MiB are enough for 4,900 deletes by such clients whose
// objects are too small to make up for that; and twice over for the 2,048 that
// can be under way at once, whose space is not free yet.
uint64_t ReserveBytes(uint64_t bytes_total);

enum class RoomUse {
  kTakes,     // any other
  kSettles,   // changes no object, or opens a narrow session
  kFrees,     // frees more than it takes, its outcome left out
  kPaysBack,  // its outcome included; or it is the head's own, and no backup's
};

// Of a mutation that was executed; `room`: by its function; `result_bytes`: of
// the heap, that its result takes beyond the room of an outcome.
RoomUse RoomUseOf(const replica::Mutation& mutation,
                  const replica::RoomTaken& room, size_t result_bytes);

// Whether a request of that use may leave so many bytes of the reserve.
bool MayLeave(RoomUse use, uint64_t left, uint64_t kept);

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

// Whether it is the head's own and puts objects of a backup.
bool BringsBackup(const replica::Mutation& mutation);

// Whether the head opens a session by it.
bool OpensSession(const replica::Mutation& mutation);

// Most slots of a session for which there is no room but the reserve.
inline constexpr uint32_t kNarrowWindow = 32;

}  // namespace kamino::head

#endif  // KAMINO_HEAD_RESERVE_H_
