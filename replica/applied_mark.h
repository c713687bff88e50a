// Up to which mutation the chain's log is applied to a node's heap, as a region
// of the node says. Each region of a node has one, and all are written
// together: so they tell whether the regions are of one age.
//
// A mark says where the one before it, which was durable when this one was
// made, stood; it covers what was marked with one drain. Two regions of one
// node are therefore never further apart than marks that meet: after a crash
// one may have this drain's mark and the other that of the drain before.
//
// Layout: ring_format::AppliedLine, two of them, written in turn, so that
// what a drain has made durable is not written to before the next one has.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_APPLIED_MARK_H_
#define KAMINO_REPLICA_APPLIED_MARK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "replica/ring_format.h"

namespace kamino::replica {

class AppliedMark {
 public:
  static constexpr size_t kBytes = 2 * sizeof(ring_format::AppliedLine);

  // At that offset of the region, which must outlive it: a multiple of 64.
  AppliedMark(engine::Region* region, size_t offset)
      : region_(region),
        lines_(reinterpret_cast<ring_format::AppliedLine*>(region->base() +
                                                           offset)) {}

  // Durable on return; whatever was marked is forgotten.
  void Reset(uint64_t sequence);
  // Finds what was marked. kDataLoss: neither line can be read.
  absl::Status Open();

  // What was durable when end() was marked.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

  // Durable once the region is drained. `sequence` >= end().
  void Mark(uint64_t sequence);
  // What was marked is durable.
  void OnDrained();

  engine::Region* region() const { return region_; }

 private:
  void Write();

  engine::Region* const region_;
  ring_format::AppliedLine* const lines_;
  int line_ = 0;  // that is written next
  bool drained_ = true;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_APPLIED_MARK_H_
