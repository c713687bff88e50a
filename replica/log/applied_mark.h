// The mutation up to which a region of a node has applied the chain's log. Each
// region of a node has a mark, and all are written together, so they show
// whether the regions are of the same age.
//
// A mark covers the mutations of one drain: it begins where the previous
// durable mark ended. So the marks of two regions of one node always meet:
// after a crash one may have this drain's mark and the other that of the drain
// before.
//
// Layout: two ring_format::AppliedLine, written in turn, so that a drain never
// writes to the line that the drain before it has made durable.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_LOG_APPLIED_MARK_H_
#define KAMINO_REPLICA_LOG_APPLIED_MARK_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "replica/log/ring_format.h"

namespace kamino::replica {

class AppliedMark {
 public:
  static constexpr size_t kBytes = 2 * sizeof(ring_format::AppliedLine);

  // The mark at that offset, a multiple of 64, of the region, which must
  // outlive it.
  AppliedMark(engine::Region* region, size_t offset)
      : region_(region),
        lines_(reinterpret_cast<ring_format::AppliedLine*>(region->base() +
                                                           offset)) {}

  // Durable on return; forgets earlier marks.
  void Reset(uint64_t sequence);
  // Reads the marks. kDataLoss: neither line can be read.
  absl::Status Open();

  // The durable position when end() was marked.
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return end_; }

  // Durable once the region is drained. `sequence` >= end().
  void Mark(uint64_t sequence);
  // The last mark is durable.
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

#endif  // KAMINO_REPLICA_LOG_APPLIED_MARK_H_
