// Advances an ArchaptStore, for programs: moves what transactions have accessed
// into its queue, and commits physically.
#ifndef KAMINO_LAB_ARCHAPT_ARCHAPT_MOVER_H_
#define KAMINO_LAB_ARCHAPT_ARCHAPT_MOVER_H_

#include "engine/baselines/background_worker.h"
#include "lab/archapt/archapt_store.h"

namespace kamino::engine {

using ArchaptMover = StoreWorker<ArchaptStore>;

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ARCHAPT_MOVER_H_
