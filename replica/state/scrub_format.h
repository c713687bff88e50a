// A node's record of its heap's origin; docs/formats/scrub.md. Numbers here are
// on media: never change them without a new ring_format::kRingVersion, which is
// that of all regions of a node.
#ifndef KAMINO_REPLICA_STATE_SCRUB_FORMAT_H_
#define KAMINO_REPLICA_STATE_SCRUB_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace kamino::replica::scrub_format {

// In the first page of the heap, behind its stamp (docs/formats/stamp.md): two
// lines, written in turn; the valid one with the larger serial counts.
inline constexpr size_t kOffset = 2048;
inline constexpr size_t kSourceBytes = 64;  // the terminating 0 included

struct alignas(64) ScrubLine {
  uint64_t serial;  // from 1
  uint64_t doubt;   // the number of the range plus one, or 0
  uint32_t copied;  // 0 or 1
  uint32_t unused1;
  char source[kSourceBytes];  // a node's id
  uint8_t unused2[32];
  uint64_t checksum;  // XXH3 of the fields above
};

static_assert(sizeof(ScrubLine) == 128);
static_assert(offsetof(ScrubLine, source) == 24);
static_assert(offsetof(ScrubLine, checksum) == 120);

}  // namespace kamino::replica::scrub_format

#endif  // KAMINO_REPLICA_STATE_SCRUB_FORMAT_H_
