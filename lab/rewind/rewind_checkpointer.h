// Makes checkpoints of a RewindStore when they are due, for programs: until
// then the log grows, and the next recovery with it.
#ifndef KAMINO_LAB_REWIND_REWIND_CHECKPOINTER_H_
#define KAMINO_LAB_REWIND_REWIND_CHECKPOINTER_H_

#include "engine/baselines/background_worker.h"
#include "lab/rewind/rewind_store.h"

namespace kamino::engine {

using RewindCheckpointer = StoreWorker<RewindStore>;

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_CHECKPOINTER_H_
