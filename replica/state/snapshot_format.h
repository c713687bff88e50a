// Format shared by the writer and reader of a snapshot;
// docs/formats/snapshot.md. Snapshots are kept: never change it without a new
// version.
#ifndef KAMINO_REPLICA_STATE_SNAPSHOT_FORMAT_H_
#define KAMINO_REPLICA_STATE_SNAPSHOT_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace kamino::replica::snapshot_format {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "snapshots are little-endian and so must the host be");

inline constexpr uint64_t kMagic = 0x746f687370616e4bull;  // "Knapshot"
// "Kchanges": the same layout, but only changes, for a heap that has the rest.
// Never kept.
inline constexpr uint64_t kChangesMagic = 0x7365676e6168634bull;
inline constexpr uint32_t kVersion = 1;

using ClusterUuid = std::array<uint8_t, 16>;

// At the beginning.
struct Header {
  uint64_t magic;
  uint32_t version;
  uint32_t chain_id;
  ClusterUuid cluster;  // reserved: nodes write zeros, as no cluster has one
  uint64_t heap_bytes;  // where the heap ends
  uint64_t begin;       // start of the snapshot; earlier bytes are a node's own
  uint64_t sequence;    // the chain's last mutation when it was begun
  uint64_t checksum;    // of the bytes before
};
static_assert(sizeof(Header) == 64);
static_assert(offsetof(Header, chain_id) == 12);
static_assert(offsetof(Header, cluster) == 16);
static_assert(offsetof(Header, heap_bytes) == 32);
static_assert(offsetof(Header, begin) == 40);
static_assert(offsetof(Header, sequence) == 48);
static_assert(offsetof(Header, checksum) == 56);

enum class Kind : uint32_t {
  kData = 1,   // so many bytes follow
  kZeros = 2,  // so many zeros, which are not stored
  kEnd = 3,    // nothing follows
  // Only in changes: data, a BlocksOfPage of the page at `offset`.
  kBlocks = 4,
};

// A later record of the same place overrides an earlier one.
struct Record {
  Kind kind;
  uint32_t reserved;  // zero
  uint64_t offset;    // in the heap; of kEnd the chain's last mutation
  uint64_t length;    // in the heap; of kEnd the number of records before
  uint64_t data;      // checksum of the data
  // Covers the bytes before and the whole stream before them: so the record's
  // fields, above all its length, are known to be correct before its data
  // arrives.
  uint64_t checksum;
};
static_assert(sizeof(Record) == 40);
static_assert(offsetof(Record, offset) == 8);
static_assert(offsetof(Record, length) == 16);
static_assert(offsetof(Record, data) == 24);
static_assert(offsetof(Record, checksum) == 32);

// Blocks of a page that became allocated or free, and their current state: a
// bit for each unit of 64 bytes, for the block whose header lies in it.
struct BlocksOfPage {
  uint64_t touched;
  uint64_t allocated;  // of those that were touched
};
static_assert(sizeof(BlocksOfPage) == 16);

// Limit of one record. Small enough to reuse its memory: larger pieces would be
// mapped and unmapped each time.
inline constexpr uint64_t kMaxDataBytes = 64u << 10;
inline constexpr uint64_t kMaxZeroBytes = 16u << 20;
// Limit of a piece of the stream, cut at records; the first includes the
// header.
inline constexpr size_t kMaxPieceBytes =
    sizeof(Header) + sizeof(Record) + kMaxDataBytes;

bool AreZeros(const std::byte* bytes, size_t length);

uint64_t ChecksumOf(const Header& header);
uint64_t ChecksumOf(absl::string_view data);
// `before`: the checksum of the preceding header or record.
uint64_t ChecksumOf(uint64_t before, const Record& record);

}  // namespace kamino::replica::snapshot_format

#endif  // KAMINO_REPLICA_STATE_SNAPSHOT_FORMAT_H_
