// Layout of the log with data that undo-own and cow keep in a heap's log area;
// docs/formats/transaction_log.md explains it. Numbers here are on media: never
// change them without a new heap version.
#ifndef KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_FORMAT_H_
#define KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::transaction_log_format {

// The log area is cut into this many slots of equal size, each a SlotHeader
// followed by entries; one unfinished transaction has one slot.
inline constexpr size_t kSlots = 64;
inline constexpr size_t kEntryAlignment = 64;  // no line is two entries'

// Beside the kinds of an Intent, which keep their numbers.
enum class EntryKind : uint8_t {
  kWrite = 1,     // length bytes follow, of [offset, offset + length)
  kAlloc = 2,     // length = payload capacity
  kFree = 3,      // length = payload capacity
  kContinue = 4,  // object = block, length = payload capacity
  kMark = 5,      // redo: the transaction is committed
};

struct alignas(64) SlotHeader {
  uint64_t retired;  // tag of the last transaction that is done with
  uint8_t unused[56];
};

// Followed by the bytes of a write, and padding. Valid when `tag` is one over
// the slot's `retired` and `check` is right; the first entry that is not ends
// the list.
struct EntryHeader {
  uint64_t object_kind;  // ObjectId | EntryKind: ids are multiples of 64
  uint32_t offset;
  uint32_t length;
  uint64_t tag;
  // XXH3 of the fields above; its seed is XXH3 of the bytes that follow, xor
  // the heap's uuid, folded, xor the entry's offset in the region, xor the
  // slot's number << kSlotShift. So neither an object's bytes can pass for an
  // entry, nor what another slot left in a block while it had the same tag.
  uint64_t check;
};

inline constexpr uint64_t kKindMask = 63;
inline constexpr int kSlotShift = 56;

constexpr size_t EntryBytes(size_t data_bytes) {
  return (sizeof(EntryHeader) + data_bytes + kEntryAlignment - 1) /
         kEntryAlignment * kEntryAlignment;
}

static_assert(sizeof(SlotHeader) == 64);
static_assert(sizeof(EntryHeader) == 32);
static_assert(offsetof(EntryHeader, check) == 24);

}  // namespace kamino::engine::transaction_log_format

#endif  // KAMINO_ENGINE_BASELINES_TRANSACTION_LOG_FORMAT_H_
