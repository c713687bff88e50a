// Recovery of a heap under REWIND after a crash. Private to the store.
#ifndef KAMINO_LAB_REWIND_REWIND_RECOVERY_H_
#define KAMINO_LAB_REWIND_REWIND_RECOVERY_H_

#include "absl/status/statusor.h"
#include "engine/heap/heap.h"
#include "engine/transactional_store.h"
#include "lab/rewind/rewind_log.h"

namespace kamino::engine {

// Carries committed transactions through and takes the others back, all
// durably, and leaves the log empty. The heap is not loaded yet. Doing it again
// after a crash on the way leads to the same. kDataLoss: damaged; nothing was
// stored but within the log then.
absl::StatusOr<RecoveryReport> RecoverRewind(Heap* heap, RewindLog* log,
                                             bool force);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_REWIND_RECOVERY_H_
