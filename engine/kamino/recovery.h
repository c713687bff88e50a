// Recovers a heap under Kamino-Tx after a crash. Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_RECOVERY_H_
#define KAMINO_ENGINE_KAMINO_RECOVERY_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/sticky_intents.h"
#include "engine/kamino/undo_copy.h"

namespace kamino::engine {

// Makes heap and undo copy agree, loads the heap, empties log and intents, all
// durably. Repeating it after a crash has the same result. Returns the largest
// sequence known to have committed; calls `tell`, if any, with it before the
// log forgets it. kDataLoss: damaged; or the error of `tell`.
absl::StatusOr<uint64_t> RecoverHeap(
    Heap* heap, UndoCopy* undo_copy, CommitLog* log, StickyIntents* sticky,
    const std::function<absl::Status(uint64_t)>& tell);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_RECOVERY_H_
