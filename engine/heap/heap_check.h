// Checks a heap that is not in use: its blocks, and which of them are
// reachable. Stores nothing, and trusts nothing that it reads.
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

// A finding in one region: the byte, and the damage.
using Finding = std::function<void(uint64_t offset, const std::string& what)>;

// The blocks of a heap, as a walk over its headers finds them. Ids are looked
// up among these, so that bytes within an object do not count as one.
class CheckedBlocks final : public Reader {
 public:
  // `objects_begin`: id of the first object; the last one ends at
  // `objects_end`. Both must lie in the region.
  CheckedBlocks(const Region* region, ObjectId objects_begin,
                ObjectId objects_end)
      : region_(region), begin_(objects_begin), end_(objects_end) {}

  // Walks all headers. At a damaged one it reports a finding and continues at
  // the next place that can be a header.
  void Walk(const Finding& found);

  // The payload of an allocated block; marks it as reached. kNotFound: there is
  // none. kAlreadyExists: it was reached before, so two references lead to it.
  absl::StatusOr<absl::Span<const std::byte>> Reach(ObjectId id);
  // The same for a block that may be reached again.
  absl::StatusOr<absl::Span<const std::byte>> Read(ObjectId id) override;

  // Visits each allocated block that was not reached.
  void VisitUnreached(
      const std::function<void(ObjectId id, uint64_t bytes)>& visit) const;

  // The offset of bytes that Reach or Read has returned.
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
  // Whether a block may begin there and end within the area.
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

// The superblock's content, once it is checked.
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
