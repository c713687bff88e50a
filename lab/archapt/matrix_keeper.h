// Seals matrices and dissolves them: on the medium, where a matrix counts or
// does not, and in the backlog, where its objects' flushes are pending or
// skipped (lab/docs/archapt.md, Matrices).
//
// An Advance seals in steps, so that many matrices share its drains: Start,
// Write, a drain, Seal, a drain, Finish.
#ifndef KAMINO_LAB_ARCHAPT_MATRIX_KEEPER_H_
#define KAMINO_LAB_ARCHAPT_MATRIX_KEEPER_H_

#include <vector>

#include "lab/archapt/archapt_media.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/durable_progress.h"
#include "lab/archapt/live_matrices.h"

namespace kamino::engine {

// Thread-safe, but for the steps of sealing, which one thread takes.
class MatrixKeeper {
 public:
  // They must outlive this.
  MatrixKeeper(ArchaptMedia* media, Backlog* backlog, DurableProgress* progress)
      : media_(*media), backlog_(*backlog), progress_(*progress) {}

  // Reserves a slot and a block for a matrix of these columns, which are
  // kSealing. Null: there is none.
  LiveMatrix* Start(const std::vector<ObjectEntry*>& columns);
  // Computes and flushes the sums and what describes the matrix.
  void Write(const LiveMatrix& live);
  // From the next drain on it counts.
  void Seal(const LiveMatrix& live);
  // It counts durably: the flushes of its objects are skipped.
  void Finish(const LiveMatrix& live);

  // Flushes what the matrix's objects have skipped; then it is gone, durably.
  // LiveMatrices::StartDissolving has been called of it.
  void Dissolve(LiveMatrix* matrix);
  // All that are sealed, except those that other threads are dissolving.
  void DissolveAll();

 private:
  ArchaptMedia& media_;
  Backlog& backlog_;
  DurableProgress& progress_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_MATRIX_KEEPER_H_
