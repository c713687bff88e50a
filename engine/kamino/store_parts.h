// The parts of a KaminoStore that its transactions use; the store owns them.
// Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_STORE_PARTS_H_
#define KAMINO_ENGINE_KAMINO_STORE_PARTS_H_

#include "engine/heap/heap.h"
#include "engine/heap/open_snapshots.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/commit_pipeline.h"
#include "engine/kamino/lock_table.h"
#include "engine/kamino/range_saver.h"
#include "engine/kamino/sticky_intents.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_writer.h"

namespace kamino::engine {

struct StoreParts {
  Heap* heap;
  OpenSnapshots* snapshots;  // may be null
  UndoCopy* undo_copy;
  LockTable* locks;
  CommitLog* log;
  StickyIntents* sticky;
  RangeSaver* saver;
  UndoCopyWriter* writer;
  CommitPipeline* pipeline;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_STORE_PARTS_H_
