// Layout of the persistent ring of log entries; docs/log_entry.md explains it.
// Numbers here are on media: never change them without a new kRingVersion.
#ifndef KAMINO_REPLICA_RING_FORMAT_H_
#define KAMINO_REPLICA_RING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::replica::ring_format {

inline constexpr uint64_t kRingMagic = 0x474e49526f6d614bull;  // "KamoRING"
inline constexpr uint32_t kRingVersion = 5;
inline constexpr uint32_t kSlotMagic = 0x544f4c53u;  // "SLOT"
inline constexpr uint32_t kWrapMagic = 0x50415257u;  // "WRAP"

inline constexpr size_t kHeaderBytes = 4096;  // entries begin here
inline constexpr size_t kEntryAlignment = 64;

// One 8-byte cursor on a line of its own, so that no two cursors tear together.
struct alignas(64) CursorLine {
  uint64_t sequence;
  uint8_t unused[56];
};

// Where the oldest entry that is kept begins. Two of them are written in turn;
// the valid one with the larger sequence counts.
struct alignas(64) CleanedLine {
  uint64_t sequence;  // of the last cleaned mutation; ends an entry
  uint64_t offset;    // of the entry after it, from the start of the region
  uint64_t checksum;  // XXH3 of the two fields above
  uint8_t unused[40];
};

struct RingHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t generation;    // a new one whenever the ring begins anew
  uint64_t size;          // of the region, in bytes
  uint8_t heap_uuid[16];  // the heap these entries belong to
  uint64_t checksum;      // XXH3 of the fields above
  uint8_t unused1[8];
  CursorLine applied;
  CleanedLine cleaned[2];
};

// In front of each entry (replica/log_entry_format.h), which is `length` bytes
// and padded to kEntryAlignment; of this ring alone, while the entry is the
// chain's.
struct SlotHeader {
  uint32_t magic;       // kSlotMagic or kWrapMagic
  uint32_t generation;  // the ring's
  uint64_t first;  // the entry's first mutation; for a wrap mark the next one's
  uint32_t length;  // of the entry; 0 for a wrap mark
  uint32_t unused;  // 0
  // XXH3 of the fields above, seeded by the entry's checksum; 0 for a wrap
  // mark.
  uint64_t checksum;
};

// What the node remembers of itself (replica/node_record.h). Two of them, at
// NodeRecord::kOffset, are written in turn; the valid one with the larger
// serial counts.
struct alignas(64) RecordLine {
  uint64_t serial;  // from 1
  uint64_t incarnation;
  uint64_t view_id;
  uint32_t condition;  // membership::Condition
  uint32_t was_head;   // 0 or 1
  uint64_t checksum;   // XXH3 of the fields above
  uint8_t unused[24];
};

static_assert(sizeof(RecordLine) == 64);
static_assert(offsetof(RecordLine, checksum) == 32);
static_assert(sizeof(CursorLine) == 64);
static_assert(sizeof(CleanedLine) == 64);
static_assert(offsetof(RingHeader, checksum) == 40);
static_assert(offsetof(RingHeader, applied) == 64);
static_assert(offsetof(RingHeader, cleaned) == 128);
static_assert(sizeof(RingHeader) == 256);
static_assert(offsetof(SlotHeader, checksum) == 24);
static_assert(sizeof(SlotHeader) == 32);

}  // namespace kamino::replica::ring_format

#endif  // KAMINO_REPLICA_RING_FORMAT_H_
