#include "client/admin.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/redirect.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::AddNodeRequest;
using kamino::v1::AdminResponse;
using kamino::v1::GetClusterRequest;
using kamino::v1::GetClusterResponse;
using kamino::v1::GetManagerRequest;
using kamino::v1::GetManagerResponse;
using kamino::v1::RemoveNodeRequest;

constexpr absl::Duration kAttempt = absl::Seconds(1);
// A manager answers when the view is stored, or after some seconds.
constexpr absl::Duration kRecovery = absl::Seconds(6);
// One that is away is not waited for.
constexpr absl::Duration kLook = absl::Milliseconds(500);
constexpr rpc::Backoff kBackoff = {absl::Milliseconds(100),
                                   absl::Milliseconds(500)};
// Whether another manager, or the same one later, may answer better.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

absl::Status NoManager(const std::string& address) {
  return absl::InvalidArgumentError(
      absl::StrCat(address, " answers, but is no manager (a node, perhaps)"));
}

}  // namespace

Admin::Admin(std::vector<std::string> managers, absl::Duration timeout,
             std::shared_ptr<const rpc::Credentials> credentials)
    : managers_(std::move(managers)),
      timeout_(timeout),
      credentials_(std::move(credentials)) {}

std::unique_ptr<Admin::Stub> Admin::StubOf(const std::string& manager) const {
  rpc::ChannelOptions options;
  options.credentials = credentials_;
  options.server = security::Role::kManager;
  return kamino::v1::AdminService::NewStub(rpc::MakeChannel(manager, options));
}

absl::Status Admin::AskLeader(Call call, absl::Duration attempt) {
  const absl::Time end = MonotonicNow() + timeout_;
  std::string manager = managers_.front();
  size_t turn = 0;
  int failures = 0;
  bool redirected = false;
  absl::BitGen random;
  std::string why;
  while (MonotonicNow() < end) {
    const auto stub = StubOf(manager);
    grpc::ClientContext context;
    const absl::Duration left = end - MonotonicNow();
    rpc::SetTimeout(std::min(attempt, left), &context);
    const absl::Status status = call(stub.get(), &context);
    if (absl::IsUnimplemented(status)) return NoManager(manager);
    if (!IsPassing(status)) return status;
    // That the end came in the middle of a call says less than what was heard
    // before it.
    const bool cut_short = left < attempt && absl::IsDeadlineExceeded(status);
    if (why.empty() || !cut_short) {
      why = absl::StrCat(manager, ": ", status.message());
    }
    const std::string leader = rpc::LeaderIn(status).value_or("");
    // Two that each take the other one for the leader are not to be asked
    // without end.
    redirected = !redirected && !leader.empty() && leader != manager;
    if (redirected) {
      manager = leader;
      continue;
    }
    manager = managers_[++turn % managers_.size()];
    const absl::Duration pause =
        kBackoff.After(++failures, absl::Uniform<double>(random, 0, 1));
    Pause(std::min(pause, end - MonotonicNow()));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("no manager that leads has answered",
                   why.empty() ? "" : "; last heard of ", why));
}

absl::StatusOr<GetClusterResponse> Admin::GetCluster() {
  GetClusterResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(
        stub->GetCluster(context, GetClusterRequest(), &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, kAttempt));
  return response;
}

absl::Status Admin::RemoveNode(const RemoveNodeRequest& request) {
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    AdminResponse response;
    return rpc::FromGrpc(stub->RemoveNode(context, request, &response));
  };
  return AskLeader(ask, kAttempt);
}

absl::Status Admin::AddNode(const std::string& node_id) {
  AddNodeRequest request;
  request.set_node_id(node_id);
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    AdminResponse response;
    return rpc::FromGrpc(stub->AddNode(context, request, &response));
  };
  return AskLeader(ask, kAttempt);
}

absl::StatusOr<kamino::v1::RecoverResponse> Admin::Recover(
    const kamino::v1::RecoverRequest& request) {
  kamino::v1::RecoverResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(stub->Recover(context, request, &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, request.confirmed() ? kRecovery : kAttempt));
  return response;
}

absl::StatusOr<kamino::v1::FinalizeResponse> Admin::Finalize(
    const kamino::v1::FinalizeRequest& request) {
  kamino::v1::FinalizeResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(stub->Finalize(context, request, &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, kAttempt));
  return response;
}

std::vector<GetManagerResponse> Admin::GetManagers() {
  std::vector<GetManagerResponse> answers;
  for (const std::string& manager : managers_) {
    const auto stub = StubOf(manager);
    grpc::ClientContext context;
    rpc::SetTimeout(kLook, &context);
    GetManagerResponse answer;
    const grpc::Status status =
        stub->GetManager(&context, GetManagerRequest(), &answer);
    if (status.ok()) answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace kamino::client
