// The ranges of a node's heap, for scrubs.
#ifndef KAMINO_REPLICA_STATE_HEAP_RANGES_H_
#define KAMINO_REPLICA_STATE_HEAP_RANGES_H_

#include "engine/heap/heap.h"
#include "engine/kamino/range_walk.h"
#include "replica/state/scrubbed_heap.h"

namespace kamino::replica {

class HeapRanges final : public ScrubbedHeap {
 public:
  // Both must outlive this. `range_bytes`: a multiple of 64.
  HeapRanges(engine::Heap* heap, ScrubRecord* record, uint64_t range_bytes)
      : range_bytes_(range_bytes),
        walk_(heap, range_bytes),
        ranges_(walk_.ranges()),
        record_(record) {
    if (record->state().copied) ranges_.Reset(RangeStates::Origin::kCopied);
  }

  uint64_t range_bytes() const override { return range_bytes_; }
  uint64_t RangeOf(engine::ObjectId id) const override {
    return walk_.RangeOf(id);
  }
  bool Reach(uint64_t range) override {
    return walk_.Reach(range, kMostBlocks);
  }
  uint64_t Digest(uint64_t range) override { return walk_.Digest(range); }
  RangeStates* range_states() override { return &ranges_; }
  ScrubRecord* record() override { return record_; }

 private:
  // So many headers can be read in a millisecond, even if none is in the cache.
  static constexpr size_t kMostBlocks = 8192;

  const uint64_t range_bytes_;
  engine::RangeWalk walk_;
  RangeStates ranges_;
  ScrubRecord* const record_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_HEAP_RANGES_H_
