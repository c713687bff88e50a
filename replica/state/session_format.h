// Layout of sessions in the chain's state; docs/formats/state.md explains it.
// On media: never change it without a new state_format::kStateMagic.
#ifndef KAMINO_REPLICA_STATE_SESSION_FORMAT_H_
#define KAMINO_REPLICA_STATE_SESSION_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kamino::replica::session_format {

// Slots that one session may have.
inline constexpr uint32_t kMaxWindow = 1024;

// Key in the tree of sessions: the session's id, big-endian.
inline constexpr size_t kSessionKeyBytes = 8;

// Value in that tree: this record, the object ids of the slots, 8 bytes each,
// and with kOwnedFormat the owner's name, up to the end. It never changes.
struct SessionRecord {
  uint32_t format;  // kRecordFormat, kOwnedFormat
  uint32_t window;  // slots, 1 to kMaxWindow
  uint64_t epoch;   // recovery epoch that it was opened in
  uint64_t opened;  // number of the mutation that opened it
  uint64_t lease_ms;
};
inline constexpr uint32_t kRecordFormat = 1;
inline constexpr uint32_t kOwnedFormat = 2;
inline constexpr size_t kMaxOwnerBytes = 1024;

// The feature that nodes agree on: kOwnedFormat (View::in_force).
inline constexpr char kOwnersTerm[] = "owners of sessions";

enum class OutcomeKind : uint32_t {
  kNone = 0,  // the slot was not used yet, and is all zeros
  kCommitted = 1,
  kVoided = 2,  // a mutation that changes nothing took its number
};

// Results of up to so many bytes lie in their slot.
inline constexpr size_t kInlineBytes = 96;

// An object of its own, so that mutations of different slots share nothing. A
// mutation that takes the slot writes its first kSlotHeaderBytes and the bytes
// of `result`.
struct SessionSlot {
  uint64_t number;    // of the session's last mutation in this slot
  uint64_t sequence;  // of that mutation in the chain's order
  uint64_t overflow;  // object with the result; 0: it lies here
  uint32_t length;    // of the result
  uint32_t kind;      // OutcomeKind
  uint8_t result[kInlineBytes];
};
inline constexpr size_t kSlotHeaderBytes = offsetof(SessionSlot, result);

static_assert(sizeof(SessionRecord) == 32);
static_assert(offsetof(SessionRecord, epoch) == 8);
static_assert(std::has_unique_object_representations_v<SessionRecord>);
static_assert(sizeof(SessionSlot) == 128);
static_assert(kSlotHeaderBytes == 32);
static_assert(std::has_unique_object_representations_v<SessionSlot>);

}  // namespace kamino::replica::session_format

#endif  // KAMINO_REPLICA_STATE_SESSION_FORMAT_H_
