// Layout of the intent log; docs/intent_log_format.md explains it. Numbers here
// are on media: never change them without a new heap version.
#ifndef KAMINO_ENGINE_KAMINO_INTENT_LOG_FORMAT_H_
#define KAMINO_ENGINE_KAMINO_INTENT_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::intent_log_format {

// The log area is cut into this many slots of equal size, each a SlotHeader
// followed by entries; one unfinished transaction has one slot.
inline constexpr size_t kSlots = 64;

enum class SlotState : uint8_t {
  kFree = 0,
  kRunning = 1,    // to be rolled back
  kCommitted = 2,  // to be rolled forward into the backup
};

struct alignas(64) SlotHeader {
  uint64_t word;      // tag << 8 | SlotState; changes by one aligned store
  uint64_t sequence;  // of the commit; durable before kCommitted is
  uint8_t unused[48];
};

// Never straddles a cache line. Valid when `tag` is the slot's and `check` is
// right; the first entry that is not ends the list.
struct alignas(32) Entry {
  uint64_t object_kind;  // ObjectId | IntentKind: ids are multiples of 64
  uint32_t offset;
  uint32_t length;
  uint64_t tag;
  uint64_t check;  // XXH3 of the fields above
};

inline constexpr uint64_t kKindMask = 63;

static_assert(sizeof(SlotHeader) == 64);
static_assert(sizeof(Entry) == 32);
static_assert(offsetof(Entry, check) == 24);

}  // namespace kamino::engine::intent_log_format

#endif  // KAMINO_ENGINE_KAMINO_INTENT_LOG_FORMAT_H_
