// Recovery of a heap under WrAP after a crash. Private to the store.
#ifndef KAMINO_LAB_WRAP_WRAP_RECOVERY_H_
#define KAMINO_LAB_WRAP_WRAP_RECOVERY_H_

#include "absl/status/statusor.h"
#include "engine/transactional_store.h"
#include "lab/wrap/wrap_layout.h"

namespace kamino::engine {

// Stores what closed wraps say that have not retired, durably, and leaves the
// log empty. How many were cut off is not known: rolled_back stays 0. No view
// has been loaded yet. Doing it again after a crash on the way leads to the
// same; it needs no room in the log. kDataLoss: damaged; nothing was stored
// then.
absl::StatusOr<RecoveryReport> RecoverWraps(const WrapLayout& layout);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_RECOVERY_H_
