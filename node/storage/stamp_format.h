// The stamp that shows that a node's regions are of the same age;
// docs/formats/stamp.md. Numbers here are on media: never change them without a
// new ring_format::kRingVersion, which is that of all regions of a node.
#ifndef KAMINO_NODE_STORAGE_STAMP_FORMAT_H_
#define KAMINO_NODE_STORAGE_STAMP_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "engine/heap/heap_format.h"
#include "engine/kamino/undo_copy_format.h"
#include "replica/log/ring_format.h"

namespace kamino::node::stamp_format {

// In the first page of the heap and of the undo copy, behind the engine's
// header. (The ring has the same in its header and in the node's record.)
inline constexpr size_t kStampOffset = 1024;
inline constexpr size_t kAppliedOffset = 1088;  // two AppliedLines

struct alignas(64) StampLine {
  uint64_t incarnation;  // of the node, in which it was written
  uint64_t nonce;        // a new one each time
  uint64_t checksum;     // XXH3 of the fields above
  uint8_t unused[40];
};

static_assert(sizeof(StampLine) == 64);
static_assert(kStampOffset >= sizeof(engine::heap_format::Superblock));
static_assert(kStampOffset >= sizeof(engine::undo_copy_format::UndoCopyHeader));
static_assert(kAppliedOffset == kStampOffset + sizeof(StampLine));
static_assert(kAppliedOffset + 2 * sizeof(replica::ring_format::AppliedLine) <=
              engine::undo_copy_format::kHeaderBytes);
static_assert(engine::undo_copy_format::kHeaderBytes ==
              engine::heap_format::kSuperblockBytes);

}  // namespace kamino::node::stamp_format

#endif  // KAMINO_NODE_STORAGE_STAMP_FORMAT_H_
