#include "node/session/connection_access.h"

#include "logs/about_request.h"
#include "security/access_table.h"

namespace kamino::node {

using session::FrameKind;
using session::Method;

absl::Status ConnectionAccess::CheckFrame(FrameKind kind) {
  if (access_ == nullptr) return absl::OkStatus();
  if (generation_ != access_->generation()) {
    generation_ = access_->generation();
    grant_ = access_->GrantOf(carrier_->identity());
  }
  const auto* const rule = security::RuleOfFrame(static_cast<uint8_t>(kind));
  return access_->Check(grant_.get(), rule,
                        rule == nullptr ? "such a frame" : rule->name);
}

absl::Status ConnectionAccess::CheckMethod(Method method) {
  if (access_ == nullptr) return absl::OkStatus();
  const auto* const rule =
      security::RuleOfRequest(static_cast<uint16_t>(method));
  return access_->Check(grant_.get(), rule,
                        rule == nullptr ? "such a request" : rule->name);
}

absl::Status ConnectionAccess::CheckMayHaveSession() {
  if (access_ == nullptr) return absl::OkStatus();
  const auto* const rule = security::RuleOfSession();
  return access_->Check(grant_.get(), rule, rule->name);
}

void ConnectionAccess::NoteDenied(const absl::Status& status,
                                  const PendingRequest* asked,
                                  const std::string& request) {
  if (access_ == nullptr || !absl::IsPermissionDenied(status)) return;
  const std::string trace =
      asked == nullptr || asked->trace == nullptr ? "" : *asked->trace;
  const logs::AboutRequest about(request, trace);
  const auto* const rule =
      asked == nullptr
          ? security::RuleOfSession()
          : security::RuleOfRequest(static_cast<uint16_t>(asked->method));
  access_->Note(status, rule == nullptr ? "a request" : rule->name,
                peer().get());
}

}  // namespace kamino::node
