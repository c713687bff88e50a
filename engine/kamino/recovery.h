// What a crash left of a heap under Kamino-Tx, brought to an end. Private to
// the store.
#ifndef KAMINO_ENGINE_KAMINO_RECOVERY_H_
#define KAMINO_ENGINE_KAMINO_RECOVERY_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/sticky_intents.h"

namespace kamino::engine {

// Leaves heap and backup in agreement, the heap loaded, log and intents empty,
// all durably. Doing it again after a crash on the way leads to the same.
// Returns the largest sequence known to have committed, of which `tell`, if
// any, hears before the log forgets it. kDataLoss: damaged; or as `tell`.
absl::StatusOr<uint64_t> RecoverHeap(
    Heap* heap, Backup* backup, CommitLog* log, StickyIntents* sticky,
    const std::function<absl::Status(uint64_t)>& tell);

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_RECOVERY_H_
