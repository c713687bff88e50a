// Pending flushes of earlier commits that a transaction has taken over, as it
// is to store to their objects or to free them (invariant 1 of
// archapt_store.h). The commits wait until it has made each of them durable, or
// has logged their bytes as old ones.
#ifndef KAMINO_LAB_ARCHAPT_TAKEN_FLUSHES_H_
#define KAMINO_LAB_ARCHAPT_TAKEN_FLUSHES_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/line_ranges.h"
#include "lab/archapt/matrix_keeper.h"
#include "lab/archapt/pending_table.h"

namespace kamino::engine {

// One thread's.
class TakenFlushes {
 public:
  // They must outlive this.
  TakenFlushes(Region* region, Backlog* backlog, MatrixKeeper* matrices)
      : region_(*region), backlog_(*backlog), matrices_(*matrices) {}

  // Before the object is stored to, or freed; its exclusive lock is held. The
  // old bytes of whole lines `logged` will be logged. Afterwards no other
  // transaction's flush of the object remains, and it is in no matrix.
  void Take(ObjectId id, const LineRange& logged);
  // The old bytes of all that was taken are logged, and this thread has
  // drained: the commits wait no longer.
  void Settle();
  // Makes all that was taken durable.
  void Finish();

 private:
  struct Owed {
    ObjectId id = kNullObject;
    uint32_t bytes = 0;  // of the payload
    LineRanges lines;
  };

  Region& region_;
  Backlog& backlog_;
  MatrixKeeper& matrices_;

  // Each flush's commit. The flushes are made, but not drained.
  absl::InlinedVector<PendingCommit*, 4> commits_;
  // Not flushed: once their bytes are durably logged as old ones they need not
  // be. If they never are, these must be.
  absl::InlinedVector<Owed, 1> owed_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_TAKEN_FLUSHES_H_
