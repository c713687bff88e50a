// Layout of the persistent ring of log entries; docs/formats/log_entry.md
// explains it. Numbers here are on media: never change them without a new
// kRingVersion.
#ifndef KAMINO_REPLICA_LOG_RING_FORMAT_H_
#define KAMINO_REPLICA_LOG_RING_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::replica::ring_format {

inline constexpr uint64_t kRingMagic = 0x474e49526f6d614bull;  // "KamoRING"
inline constexpr uint32_t kRingVersion = 11;
inline constexpr uint32_t kSlotMagic = 0x544f4c53u;  // "SLOT"
inline constexpr uint32_t kWrapMagic = 0x50415257u;  // "WRAP"

inline constexpr size_t kHeaderBytes = 4096;  // entries begin here
inline constexpr size_t kEntryAlignment = 64;

// Up to where entries are applied (replica/log/applied_mark.h). Two lines are
// written in turn; the valid one with the larger end counts. In the ring's
// header, and in the node's other regions.
struct alignas(64) AppliedLine {
  uint64_t begin;     // durable before
  uint64_t end;       // the last applied mutation; ends an entry
  uint64_t checksum;  // XXH3 of the two fields above
  uint8_t unused[40];
};

// Where the oldest kept entry begins. Two lines are written in turn; the valid
// one with the larger sequence counts.
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
  uint32_t mode;          // ChainMode of the entries' chain
  uint32_t unused;        // 0
  uint64_t checksum;      // XXH3 of the fields above
  uint8_t unused1[8];
  AppliedLine applied[2];
  CleanedLine cleaned[2];
};

// Precedes each entry (replica/log/log_entry_format.h), which is `length` bytes
// and padded to kEntryAlignment. The header is this ring's alone; the entry is
// the chain's.
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

// The node's record (replica/log/node_record.h). Two versions are kept and
// written in turn, each in two copies, one after the other: version i lies at
// kRecordOffsets[0] and [1], in line i.
inline constexpr size_t kRecordOffsets[2] = {1024, 2048};
struct alignas(64) RecordLine {
  uint64_t serial;  // from 1
  uint64_t incarnation;
  uint64_t view_id;
  uint32_t condition;       // membership::Condition
  uint16_t was_head;        // 0 or 1
  uint16_t disputed_whole;  // 0 or 1
  // The nonce of this incarnation, and of the next while the node's other
  // regions receive it, or 0: docs/formats/stamp.md.
  uint64_t nonce;
  uint64_t next_nonce;
  uint64_t disputed;  // first mutation of a diverging entry; 0: none
  uint64_t redone;    // of an entry executed again; 0: none
  // A single head's current request: client id, number and digest; or 0.
  uint64_t announced[3];
  uint32_t restarts;
  uint16_t ended_in_order;  // 0 or 1
  uint16_t alone;           // 0 or 1
  // The heap's content: its id, cluster and recovery epoch; 0: none.
  uint8_t heap_id[16];
  uint8_t cluster_uuid[16];
  uint64_t epoch;
  uint64_t boot;        // of the machine; 0: not known
  uint16_t local_undo;  // 0 or 1
  uint8_t unused[6];
  uint64_t view_digest;  // of view_id; 0: not known
  uint8_t unused1[24];
  uint64_t checksum;  // XXH3 of the fields above
};

static_assert(sizeof(RecordLine) == 192);
static_assert(offsetof(RecordLine, redone) == 56);
static_assert(offsetof(RecordLine, restarts) == 88);
static_assert(offsetof(RecordLine, heap_id) == 96);
static_assert(offsetof(RecordLine, epoch) == 128);
static_assert(offsetof(RecordLine, view_digest) == 152);
static_assert(offsetof(RecordLine, checksum) == 184);
static_assert(sizeof(AppliedLine) == 64);
static_assert(offsetof(AppliedLine, checksum) == 16);
static_assert(sizeof(CleanedLine) == 64);
static_assert(offsetof(RingHeader, mode) == 40);
static_assert(offsetof(RingHeader, checksum) == 48);
static_assert(offsetof(RingHeader, applied) == 64);
static_assert(offsetof(RingHeader, cleaned) == 192);
static_assert(sizeof(RingHeader) == 320);
static_assert(offsetof(SlotHeader, checksum) == 24);
static_assert(sizeof(SlotHeader) == 32);

}  // namespace kamino::replica::ring_format

#endif  // KAMINO_REPLICA_LOG_RING_FORMAT_H_
