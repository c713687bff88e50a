// Advances an ArchaptStore, for programs: moves what transactions have accessed
// into its queue, and commits physically.
#ifndef KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
#define KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_

#include "engine/baselines/archapt/archapt_store.h"
#include "engine/baselines/background_worker.h"

namespace kamino::engine {

class ArchaptMover {
 public:
  // The store must outlive this.
  explicit ArchaptMover(ArchaptStore* store);

 private:
  BackgroundWorker worker_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
