// Layout of a log entry: the same bytes in the head's ring, on each link and in
// every other ring. docs/formats/log_entry.md explains it. Numbers here are on
// media and on the wire: never change them without a new kEntryVersion.
#ifndef KAMINO_REPLICA_LOG_LOG_ENTRY_FORMAT_H_
#define KAMINO_REPLICA_LOG_LOG_ENTRY_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kamino::replica::log_entry_format {

static_assert(std::endian::native == std::endian::little,
              "numbers are stored as they are in memory");

inline constexpr uint32_t kEntryMagic = 0x5952544eu;  // "NTRY"
inline constexpr uint16_t kEntryVersion = 2;

// Parts begin at multiples of this, from the start of the entry.
inline constexpr size_t kPartAlignment = 8;

// The feature that nodes agree on: EntryHeader::skipped (View::in_force). Nodes
// without it read 0.
inline constexpr char kSkippedTerm[] = "numbers skipped by a restore";

// Precedes every entry. The parts follow: mutations{count}
// intents{intent_count} after_images{after_image_bytes}
//
// Only chains of mode images have after-images: in the write set's order, a
// write's `length` bytes, an allocation's `filled` bytes, none for a free; then
// zeros up to kPartAlignment.
//
// `epoch` is reserved for the recovery epoch, and not read. It is not needed:
// neighbours show by their Hello that their data is of the same epoch, and a
// joining node from an earlier one begins its ring anew.
struct EntryHeader {
  uint64_t checksum;  // XXH3 of all bytes after this field
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;  // where the parts begin
  uint32_t length;        // bytes of the entry, the header among them
  uint32_t count;         // of mutations, from 1
  uint64_t first;         // number of the first mutation
  uint64_t chain_id;
  uint64_t view_id;            // in which the head executed it
  uint64_t epoch;              // 0: see above
  uint64_t image_hash;         // engine::AfterImage::hash; 0: not told
  uint32_t mutation_bytes;     // of the part
  uint32_t intent_count;       // of the write set
  uint32_t after_image_bytes;  // of the part
  uint32_t flags;              // none: 0
  // Unused numbers after the last mutation: a restore continues above the
  // numbers of the backup. Else 0.
  uint64_t skipped;
  uint8_t reserved[40];  // 0
};

// A mutation: one client's request. Dropped ids follow, 8 bytes each, then the
// function's name, the arguments, and zeros up to kPartAlignment.
struct MutationHeader {
  uint64_t client_id;
  uint64_t number;
  uint64_t since;           // kamino.v1.RequestId.since
  uint32_t argument_bytes;  // what the client sent, byte for byte
  uint32_t dropped_count;   // clients whose stored outcomes are dropped
  uint16_t name_bytes;
  uint16_t flags;      // kOfSession
  uint16_t unused[2];  // 0
};

// Flags of a mutation; any other makes the entry invalid. kOfSession:
// `client_id` is a session's id, and `number` one of the session's.
inline constexpr uint16_t kOfSession = 1;

// A range that the head's execution declared, in that order: engine::Intent.
struct IntentRecord {
  uint64_t object;
  uint32_t offset;
  uint32_t length;
  uint32_t kind;  // engine::IntentKind
  // For an allocation: bytes from its start that image_hash covers; the rest
  // are zeros. Else 0.
  uint32_t filled;
};

static_assert(sizeof(EntryHeader) == 128);
static_assert(offsetof(EntryHeader, magic) == 8);
static_assert(offsetof(EntryHeader, length) == 16);
static_assert(offsetof(EntryHeader, first) == 24);
static_assert(offsetof(EntryHeader, image_hash) == 56);
static_assert(offsetof(EntryHeader, mutation_bytes) == 64);
static_assert(offsetof(EntryHeader, skipped) == 80);
static_assert(offsetof(EntryHeader, reserved) == 88);
static_assert(std::has_unique_object_representations_v<EntryHeader>);
static_assert(sizeof(MutationHeader) == 40);
static_assert(offsetof(MutationHeader, argument_bytes) == 24);
static_assert(offsetof(MutationHeader, flags) == 34);
static_assert(std::has_unique_object_representations_v<MutationHeader>);
static_assert(sizeof(IntentRecord) == 24);
static_assert(offsetof(IntentRecord, kind) == 16);
static_assert(std::has_unique_object_representations_v<IntentRecord>);

}  // namespace kamino::replica::log_entry_format

#endif  // KAMINO_REPLICA_LOG_LOG_ENTRY_FORMAT_H_
