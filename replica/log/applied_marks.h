// The position up to which a node has applied entries: a mark in the ring's
// region, and equal marks in the node's other regions, which become durable
// together.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LOG_APPLIED_MARKS_H_
#define KAMINO_REPLICA_LOG_APPLIED_MARKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "replica/log/applied_mark.h"

namespace kamino::replica {

class AppliedMarks {
 public:
  // The ring's mark is at that offset of its region, which must outlive this.
  AppliedMarks(engine::Region* region, size_t offset)
      : region_(region), own_(region, offset) {}

  // Reads the ring's mark. kDataLoss: it cannot be read.
  absl::Status Open() { return own_.Open(); }
  const AppliedMark& own() const { return own_; }
  uint64_t end() const { return own_.end(); }
  // Everything up to end() is durably marked.
  bool durable() const { return durable_; }

  // As LogRing::SetOtherMarks.
  void SetOthers(std::vector<AppliedMark*> marks);
  // Durable after the next Persist. `sequence` >= end().
  void Mark(uint64_t sequence);
  // Durable on return; forgets earlier marks.
  void Reset(uint64_t sequence);
  void Persist();
  // The ring's region was drained for another reason.
  void OnRingDrained() {
    if (one_drain_) OnDrained();
  }

 private:
  void OnDrained();

  engine::Region* const region_;
  AppliedMark own_;
  std::vector<AppliedMark*> others_;
  bool one_drain_ = true;  // one drain serves for all marks
  bool durable_ = true;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_APPLIED_MARKS_H_
