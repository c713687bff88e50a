#include "membership/etcd/etcd_login.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "rpc/channel.h"
#include "rpc/status.h"
#include "security/regular_file.h"

namespace kamino::membership {
namespace {

constexpr size_t kMaxPassword = 4096;

// etcd has no codes for these errors, only texts
// (etcdserver/api/v3rpc/rpctypes/error.go).
constexpr absl::string_view kInvalidToken = "invalid auth token";
constexpr absl::string_view kOldRevision = "revision of auth store is old";
constexpr absl::string_view kNoUser = "user name is empty";
constexpr absl::string_view kNotEnabled = "authentication is not enabled";
constexpr absl::string_view kFailed = "authentication failed";

}  // namespace

absl::StatusOr<std::string> ReadPassword(const std::string& path) {
  ASSIGN_OR_RETURN(std::string password, security::ReadRegularFile(path));
  if (password.size() > kMaxPassword) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has more than ", kMaxPassword, " bytes"));
  }
  password.resize(std::min(password.find_first_of("\r\n"), password.size()));
  if (password.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " has no password in its first line"));
  }
  return password;
}

absl::Status EtcdLogin::LogIn(etcdserverpb::Auth::Stub* auth,
                              absl::Duration timeout) {
  if (MonotonicNow() < refused_until_) return refusal_;
  const auto password = ReadPassword(user_.password_file);
  if (!password.ok()) {
    return absl::PermissionDeniedError(password.status().message());
  }
  grpc::ClientContext context;
  rpc::SetTimeout(timeout, &context);
  context.set_wait_for_ready(true);
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_.name);
  request.set_password(*password);
  etcdserverpb::AuthenticateResponse response;
  const absl::Status status =
      rpc::FromGrpc(auth->Authenticate(&context, request, &response));
  if (absl::StrContains(status.message(), kNotEnabled)) {
    LOG(WARNING) << "authentication is not enabled at etcd: user " << user_.name
                 << " does not log in until it is";
    open_ = true;
    return absl::OkStatus();
  }
  if (absl::StrContains(status.message(), kFailed)) {
    refused_until_ = MonotonicNow() + kPause;
    refusal_ = absl::PermissionDeniedError(
        absl::StrCat("it does not take user ", user_.name,
                     " with the password in ", user_.password_file));
    return refusal_;
  }
  RETURN_IF_ERROR(status);
  token_ = response.token();
  return absl::OkStatus();
}

void EtcdLogin::AddTo(grpc::ClientContext* context) const {
  if (!token_.empty()) context->AddMetadata("token", token_);
}

bool EtcdLogin::IsOver(const absl::Status& status) {
  if (user_.name.empty()) return false;
  // Without a token, etcd treats the caller as the user with the common name of
  // its certificate.
  if (open_ && absl::IsPermissionDenied(status)) {
    open_ = false;
    return true;
  }
  for (const absl::string_view words : {kInvalidToken, kOldRevision, kNoUser}) {
    if (!absl::StrContains(status.message(), words)) continue;
    token_.clear();
    open_ = false;
    return true;
  }
  return false;
}

}  // namespace kamino::membership
