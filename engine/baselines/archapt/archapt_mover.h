// Advances an ArchaptStore, for programs: moves what transactions have accessed
// into its queue, and commits physically.
#ifndef KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
#define KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_

#include "engine/baselines/archapt/archapt_store.h"
#include "engine/baselines/background_worker.h"

namespace kamino::engine {

using ArchaptMover = StoreWorker<ArchaptStore>;

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_ARCHAPT_ARCHAPT_MOVER_H_
