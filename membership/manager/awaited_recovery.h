// The result of an operator's recovery: a recovery is done once its view is
// stored at etcd.
#ifndef KAMINO_MEMBERSHIP_MANAGER_AWAITED_RECOVERY_H_
#define KAMINO_MEMBERSHIP_MANAGER_AWAITED_RECOVERY_H_

#include <optional>

#include "absl/status/status.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe.
class AwaitedRecovery {
 public:
  // kAborted: whether the recovery's view was stored is unknown.
  static absl::Status Unknown();

  // A recovery has proposed that view.
  void Begin(const View& view);
  // That view is stored, which ends a pending recovery.
  void OnStored(const View& stored);
  // The leadership ended, and with it a pending recovery.
  void OnLost();

  // The result of the last recovery. OK: its view is stored. kAborted: another
  // view is stored, or the result is unknown. Nothing: pending.
  const std::optional<absl::Status>& result() const { return result_; }

 private:
  void End(const absl::Status& status);

  std::optional<View> awaited_;
  std::optional<absl::Status> result_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_AWAITED_RECOVERY_H_
