#include "membership/manager/awaited_recovery.h"

#include "absl/strings/str_cat.h"

namespace kamino::membership {

absl::Status AwaitedRecovery::Unknown() {
  return absl::AbortedError(
      "it is unknown whether the recovery's view was stored at etcd: kamino "
      "admin status shows the view in force");
}

void AwaitedRecovery::Begin(const View& view) {
  awaited_ = view;
  result_.reset();
}

void AwaitedRecovery::OnStored(const View& stored) {
  if (!awaited_.has_value()) return;
  End(stored.digest == awaited_->digest
          ? absl::OkStatus()
          : absl::AbortedError(
                absl::StrCat("not recovered: another view was stored instead, ",
                             stored.ToString())));
}

void AwaitedRecovery::OnLost() {
  if (awaited_.has_value()) End(Unknown());
}

void AwaitedRecovery::End(const absl::Status& status) {
  awaited_.reset();
  result_ = status;
}

}  // namespace kamino::membership
