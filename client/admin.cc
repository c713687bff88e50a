#include "client/admin.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/error.h"
#include "grpcpp/grpcpp.h"

namespace kamino::client {
namespace {

using kamino::v1::AddNodeRequest;
using kamino::v1::AdminResponse;
using kamino::v1::GetClusterRequest;
using kamino::v1::GetClusterResponse;
using kamino::v1::RemoveNodeRequest;

constexpr absl::Duration kAttempt = absl::Seconds(1);
constexpr absl::Duration kPause = absl::Milliseconds(200);

// Whether another manager, or the same one later, may answer better.
bool IsPassing(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

Admin::Admin(std::vector<std::string> managers, absl::Duration timeout)
    : managers_(std::move(managers)), timeout_(timeout) {}

absl::Status Admin::AskLeader(Call call) {
  const absl::Time end = absl::Now() + timeout_;
  std::string next = managers_.front();
  size_t turn = 0;
  std::string why = "not asked yet";
  while (absl::Now() < end) {
    const std::string manager = std::exchange(next, "");
    auto stub = kamino::v1::AdminService::NewStub(
        grpc::CreateChannel(manager, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    const absl::Duration left = std::min(kAttempt, end - absl::Now());
    context.set_deadline(std::chrono::system_clock::now() +
                         absl::ToChronoMilliseconds(left));
    std::string ask;
    const grpc::Status status = call(stub.get(), &context, &ask);
    if (status.ok() && ask.empty()) return absl::OkStatus();
    if (!status.ok() && !IsPassing(status)) return FromGrpc(status);
    why = absl::StrCat(manager, ": ",
                       status.ok() ? "does not lead" : status.error_message());
    if (status.ok() && ask != "?" && ask != manager) {
      next = ask;
      continue;
    }
    next = managers_[++turn % managers_.size()];
    absl::Notification never;
    never.WaitForNotificationWithTimeout(std::min(kPause, end - absl::Now()));
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "no manager that leads has answered; the last one asked, ", why));
}

absl::StatusOr<GetClusterResponse> Admin::GetCluster() {
  GetClusterResponse response;
  absl::Status status = AskLeader(
      [&](Stub* stub, grpc::ClientContext* context, std::string* ask) {
        response.Clear();
        grpc::Status called =
            stub->GetCluster(context, GetClusterRequest(), &response);
        *ask = response.ask();
        return called;
      });
  if (!status.ok()) return status;
  return response;
}

absl::Status Admin::RemoveNode(const RemoveNodeRequest& request) {
  return AskLeader(
      [&](Stub* stub, grpc::ClientContext* context, std::string* ask) {
        AdminResponse response;
        grpc::Status called = stub->RemoveNode(context, request, &response);
        *ask = response.ask();
        return called;
      });
}

absl::Status Admin::AddNode(const std::string& node_id) {
  AddNodeRequest request;
  request.set_node_id(node_id);
  return AskLeader(
      [&](Stub* stub, grpc::ClientContext* context, std::string* ask) {
        AdminResponse response;
        grpc::Status called = stub->AddNode(context, request, &response);
        *ask = response.ask();
        return called;
      });
}

}  // namespace kamino::client
