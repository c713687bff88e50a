// Layout of WrAP's log in a heap's log area; lab/docs/wrap.md explains it.
// Numbers here are on media: never change them without a new heap version. What
// names a place is its offset from the region's start, 0: none.
#ifndef KAMINO_LAB_WRAP_WRAP_FORMAT_H_
#define KAMINO_LAB_WRAP_WRAP_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::engine::wrap_format {

inline constexpr char kLabel[] = "wrap";  // the heap's

inline constexpr size_t kLineBytes = 64;
// A bucket is a multiple of lines, and no smaller.
inline constexpr uint64_t kMinBucketBytes = 512;

// The first bytes of the log area; buckets follow, as many as fit.
struct LogHeader {
  uint64_t bucket_bytes;
  uint64_t check;  // XXH3 of the field above, seeded with the uuid
  uint64_t unused[6];
  // Bits 47..0 of each: a sequence; above: the same of its XXH3, seeded with
  // the uuid, xor the word's offset in the log.
  uint64_t retired;        // all closes up to this one are durably home
  uint64_t last_sequence;  // the largest CommitOptions::sequence of those
  uint64_t unused_retired[6];
};

inline constexpr int kSequenceBits = 48;
inline constexpr uint64_t kSequenceMask = (uint64_t{1} << kSequenceBits) - 1;

// A bucket that a wrap begins in begins with one.
struct Marker {
  uint64_t sequence;         // of the close; 0: none
  uint64_t commit_sequence;  // CommitOptions::sequence; 0: anonymous
  uint64_t bytes;            // of all records
  // When this wrap was closed, all closes up to here were durable.
  uint64_t durable;
  // XXH3 of the fields above; its seed is the heap's uuid, folded, xor the
  // marker's offset. By it recovery knows a marker before it goes by `bytes`.
  uint64_t own_check;
  uint64_t unused[2];
  // XXH3 of the fields above; its seed is XXH3 of the records xor the heap's
  // uuid, folded, xor the marker's offset.
  uint64_t check;
};

// The last bytes of a bucket or block whose records go on elsewhere.
struct Link {
  uint64_t next;   // a bucket, or a block's payload
  uint64_t bytes;  // of that, this link's like included
};

// A record: a word, then the bytes, then up to 7 more, to the next multiple of
// 8. Bits 47..0 of the word are the offset of the first byte in the region,
// above: the number of bytes, less 1.
inline constexpr uint64_t kMostRecordBytes = uint64_t{1} << 16;
inline constexpr uint64_t kMostRegionBytes = uint64_t{1} << 48;

constexpr uint64_t MakeRecordWord(uint64_t address, uint64_t bytes) {
  return (bytes - 1) << 48 | address;
}
constexpr uint64_t AddressOf(uint64_t word) {
  return word & (kMostRegionBytes - 1);
}
constexpr uint64_t LengthOf(uint64_t word) { return (word >> 48) + 1; }
// In the log.
constexpr uint64_t RecordBytes(uint64_t bytes) {
  return sizeof(uint64_t) + (bytes + 7) / 8 * 8;
}

static_assert(sizeof(LogHeader) == 2 * kLineBytes);
static_assert(offsetof(LogHeader, retired) == kLineBytes);
static_assert(sizeof(Marker) == kLineBytes);
static_assert(offsetof(Marker, own_check) == 32);
static_assert(offsetof(Marker, check) == 56);
static_assert(sizeof(Link) == 16);
static_assert(LengthOf(MakeRecordWord(0, kMostRecordBytes)) ==
              kMostRecordBytes);

}  // namespace kamino::engine::wrap_format

#endif  // KAMINO_LAB_WRAP_WRAP_FORMAT_H_
