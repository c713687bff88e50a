#include "membership/manager/etcd_health.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rpc/redirect.h"

namespace kamino::membership {

void EtcdHealth::OnAnswer(const absl::Status& answered) {
  failure_ = absl::IsAborted(answered) ? absl::OkStatus() : answered;
  answered_ |= failure_.ok();
}

absl::Status EtcdHealth::Check() const {
  if (!failure_.ok() || answered_) return failure_;
  return absl::UnavailableError("etcd has not answered yet");
}

absl::Status EtcdHealth::Explain(const absl::Status& status) const {
  if (failure_.ok() || !rpc::LeaderIn(status).has_value()) return status;
  absl::Status why(status.code(),
                   absl::StrCat(status.message(), "; ", failure_.message()));
  status.ForEachPayload(
      [&why](absl::string_view url, const absl::Cord& detail) {
        why.SetPayload(url, detail);
      });
  return why;
}

}  // namespace kamino::membership
