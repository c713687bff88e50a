#include "client/admin.h"

#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "base/clock.h"
#include "base/pause.h"
#include "base/status_macros.h"
#include "client/error.h"
#include "kamino/v1/admin.grpc.pb.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/cluster_calls.h"
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
// A manager answers once the view is stored, or after some seconds.
constexpr absl::Duration kRecovery = absl::Seconds(6);
// Managers that do not answer in this time are left out.
constexpr absl::Duration kLook = absl::Milliseconds(500);
constexpr rpc::Backoff kBackoff = {absl::Milliseconds(100),
                                   absl::Milliseconds(500)};
// Whether another manager, or the same one later, may succeed.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Whether both are known and differ.
bool Differ(const std::string& one, const std::string& other) {
  return !one.empty() && !other.empty() && one != other;
}

absl::Status NoManager(const std::string& address) {
  return absl::InvalidArgumentError(
      absl::StrCat(address,
                   " answers, but is no manager (a node or etcd, perhaps; "
                   "operators call a manager's --admin_listen)"));
}

// gRPC's text for a call without an answer in time.
absl::string_view WhySilent(const absl::Status& status) {
  if (status.message() != "Deadline Exceeded") return "";
  return " (no answer: the process hangs, another program has the address, or "
         "its host is not reached)";
}

}  // namespace

Admin::Admin(std::vector<std::string> managers, absl::Duration timeout,
             std::shared_ptr<const rpc::Credentials> credentials,
             std::shared_ptr<const rpc::ClusterIdentity> seeds_cluster)
    : managers_(std::move(managers)),
      timeout_(timeout),
      credentials_(std::move(credentials)),
      cluster_(seeds_cluster == nullptr ? met_ : std::move(seeds_cluster)) {}

struct Admin::Stub {
  std::unique_ptr<kamino::v1::AdminService::Stub> service;
};

std::unique_ptr<Admin::Stub> Admin::StubOf(const std::string& manager) const {
  rpc::ChannelOptions options;
  options.credentials = credentials_;
  options.cluster = cluster_;
  options.server = security::Role::kManager;
  auto stub = std::make_unique<Stub>();
  stub->service =
      kamino::v1::AdminService::NewStub(rpc::MakeChannel(manager, options));
  return stub;
}

// --- All managers.

struct Admin::Look {
  std::string address;
  std::unique_ptr<Stub> stub;
  grpc::ClientContext context;
  GetManagerRequest request;
  GetManagerResponse answer;
  grpc::Status status;
  std::string uuid;  // of its cluster; "": not named
};

std::vector<std::unique_ptr<Admin::Look>> Admin::LookAtManagers() const {
  std::vector<std::unique_ptr<Look>> looks;
  absl::BlockingCounter left(static_cast<int>(managers_.size()));
  for (const std::string& manager : managers_) {
    Look* const look = looks.emplace_back(std::make_unique<Look>()).get();
    look->address = manager;
    look->stub = StubOf(manager);
    rpc::SetTimeout(kLook, &look->context);
    look->stub->service->async()->GetManager(
        &look->context, &look->request, &look->answer,
        [look, &left](grpc::Status status) {
          look->status = std::move(status);
          left.DecrementCount();
        });
  }
  left.Wait();
  for (const auto& look : looks) {
    if (look->status.ok()) look->uuid = rpc::ClusterUuidIn(look->context);
  }
  return looks;
}

std::vector<GetManagerResponse> Admin::GetManagers() {
  std::vector<GetManagerResponse> answers;
  for (const auto& look : LookAtManagers()) {
    if (look->status.ok()) answers.push_back(std::move(look->answer));
  }
  return answers;
}

absl::Status Admin::NotOfTheSeeds(const std::string& manager,
                                  const std::string& cluster_id,
                                  const grpc::ClientContext& context) const {
  return MakeError(
      absl::StatusCode::kInvalidArgument, kamino::v1::REASON_OTHER_CLUSTER,
      absl::StrCat("the seeds and the managers are of different clusters: the "
                   "seeds are of ",
                   cluster_->ToString(), ", and the manager ", manager,
                   " is of the cluster of ",
                   rpc::ClusterName(cluster_id, rpc::ClusterUuidIn(context)),
                   "; name seeds and managers of one cluster"));
}

absl::Status Admin::MeetCluster() {
  auto looks = LookAtManagers();
  for (const auto& look : looks) {
    if (cluster_ == met_) break;
    // A manager that does not know its cluster's uuid yet knows the name.
    const bool other_name =
        look->status.ok() && look->uuid.empty() &&
        Differ(look->answer.cluster_id(), cluster_->cluster_id());
    if (other_name || rpc::IsOtherCluster(rpc::FromGrpc(look->status))) {
      return NotOfTheSeeds(look->address,
                           other_name ? look->answer.cluster_id() : "",
                           look->context);
    }
  }
  std::erase_if(looks, [](const auto& look) { return !look->status.ok(); });
  for (size_t i = 0; i < looks.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Look& a = *looks[j];
      const Look& b = *looks[i];
      if (!Differ(a.answer.cluster_id(), b.answer.cluster_id()) &&
          !Differ(a.uuid, b.uuid)) {
        continue;
      }
      return MakeError(
          absl::StatusCode::kInvalidArgument, kamino::v1::REASON_OTHER_CLUSTER,
          absl::StrCat("the managers are of different clusters: ", a.address,
                       " is of ",
                       rpc::ClusterName(a.answer.cluster_id(), a.uuid),
                       ", and ", b.address, " of ",
                       rpc::ClusterName(b.answer.cluster_id(), b.uuid),
                       "; name the managers of one cluster"));
    }
  }
  for (const auto& look : looks) {
    met_->Pin(look->answer.cluster_id(), look->uuid);
  }
  return absl::OkStatus();
}

// --- The leader.

absl::Status Admin::AskLeader(Call call, absl::Duration attempt) {
  const absl::Time end = MonotonicNow() + timeout_;
  std::string manager = managers_.front();
  size_t turn = 0;
  int failures = 0;
  bool redirected = false;
  absl::BitGen random;
  std::string why;
  while (MonotonicNow() < end) {
    // Repeated until a manager has named its cluster: managers that were silent
    // may be of different clusters.
    if (!redirected && met_->uuid().empty()) {
      RETURN_IF_ERROR(MeetCluster());
    }
    const auto stub = StubOf(manager);
    grpc::ClientContext context;
    const absl::Duration left = end - MonotonicNow();
    rpc::SetTimeout(std::min(attempt, left), &context);
    const absl::Status status = call(stub.get(), &context);
    if (absl::IsUnimplemented(status)) return NoManager(manager);
    // Another process may use the address of the named leader by now.
    const bool moved = redirected && rpc::IsOtherCluster(status);
    if (cluster_ != met_ && !moved && rpc::IsOtherCluster(status)) {
      return NotOfTheSeeds(manager, /*cluster_id=*/"", context);
    }
    if (!IsPassing(status) && !moved) return status;
    const bool late = absl::IsDeadlineExceeded(status);
    // An error that was received earlier says more than the timeout of a call
    // that the deadline cut short.
    const bool cut_short = late && left < attempt;
    // A manager on a slow machine or network may need longer.
    if (late) attempt *= 2;
    if (why.empty() || !cut_short) {
      why = absl::StrCat(manager, ": ", status.message(), WhySilent(status));
    }
    const std::string leader = rpc::LeaderIn(status).value_or("");
    // Follows one redirect only: two managers may name each other as the
    // leader.
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
      why.empty()
          ? "no manager has answered"
          : absl::StrCat("no manager that leads has answered; last heard of ",
                         why));
}

absl::StatusOr<GetClusterResponse> Admin::GetCluster() {
  GetClusterResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(
        stub->service->GetCluster(context, GetClusterRequest(), &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, kAttempt));
  return response;
}

absl::Status Admin::RemoveNode(const RemoveNodeRequest& request) {
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    AdminResponse response;
    return rpc::FromGrpc(
        stub->service->RemoveNode(context, request, &response));
  };
  return AskLeader(ask, kAttempt);
}

absl::Status Admin::AddNode(const std::string& node_id) {
  AddNodeRequest request;
  request.set_node_id(node_id);
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    AdminResponse response;
    return rpc::FromGrpc(stub->service->AddNode(context, request, &response));
  };
  return AskLeader(ask, kAttempt);
}

absl::StatusOr<kamino::v1::RecoverResponse> Admin::Recover(
    const kamino::v1::RecoverRequest& request) {
  kamino::v1::RecoverResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(stub->service->Recover(context, request, &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, request.confirmed() ? kRecovery : kAttempt));
  return response;
}

absl::StatusOr<kamino::v1::FinalizeResponse> Admin::Finalize(
    const kamino::v1::FinalizeRequest& request) {
  kamino::v1::FinalizeResponse response;
  const auto ask = [&](Stub* stub, grpc::ClientContext* context) {
    response.Clear();
    return rpc::FromGrpc(stub->service->Finalize(context, request, &response));
  };
  RETURN_IF_ERROR(AskLeader(ask, kAttempt));
  return response;
}

}  // namespace kamino::client
