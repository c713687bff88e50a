// What is wrong with a heap that nobody uses: of its blocks, and of which of
// them anything leads to. Stores nothing, and believes nothing that it reads.
#ifndef KAMINO_ENGINE_HEAP_HEAP_CHECK_H_
#define KAMINO_ENGINE_HEAP_HEAP_CHECK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Of one region: at which byte, and what is wrong.
using Finding = std::function<void(uint64_t offset, const std::string& what)>;

// The blocks of a heap, as a walk over its headers finds them. Ids are looked
// up among these, so that bytes within an object are not taken for one.
class CheckedBlocks final : public Reader {
 public:
  // `objects_begin`: id of the first object; the last one ends at
  // `objects_end`. Both must lie in the region.
  CheckedBlocks(const Region* region, ObjectId objects_begin,
                ObjectId objects_end)
      : region_(region), begin_(objects_begin), end_(objects_end) {}

  // Walks all headers. Where one is damaged the walk goes on at the next place
  // that can be one, and says so.
  void Walk(const Finding& found);

  // The payload of an allocated block; marks it as reached. kNotFound: there is
  // none. kAlreadyExists: it was reached before, so two things lead to it.
  absl::StatusOr<absl::Span<const std::byte>> Reach(ObjectId id);
  // The same for one that may be reached again.
  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;

  // Each allocated block that was not reached.
  void VisitUnreached(
      const std::function<void(ObjectId id, uint64_t bytes)>& visit) const;

  // Of bytes that Reach or Read has told of.
  uint64_t OffsetOf(const void* bytes) const {
    return static_cast<uint64_t>(static_cast<const std::byte*>(bytes) -
                                 region_->base());
  }

  uint64_t allocated() const { return allocated_; }
  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t free_blocks() const { return free_; }

 private:
  // The allocated block at `id`; null: none.
  uint64_t* Find(ObjectId id);
  uint64_t WordAt(ObjectId id) const;
  // Whether a block may stand there, and ends within the area.
  bool CanBeBlock(ObjectId id) const;

  const Region* const region_;
  const ObjectId begin_;
  const ObjectId end_;
  // Ids of allocated blocks, ascending; the lowest bit is set once reached.
  std::vector<uint64_t> blocks_;
  uint64_t allocated_ = 0;
  uint64_t allocated_bytes_ = 0;
  uint64_t free_ = 0;
};

// What the superblock says, once it is known to be right.
struct HeapLayout {
  std::string label;
  uint64_t log_offset = 0;
  uint64_t log_bytes = 0;
  ObjectId objects_begin = kNullObject;
  ObjectId objects_end = kNullObject;
  ObjectId root = kNullObject;
  std::array<uint8_t, 16> uuid = {};
};
// Errors as Heap::Open's.
absl::StatusOr<HeapLayout> ReadHeapLayout(Region* region);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_HEAP_CHECK_H_
