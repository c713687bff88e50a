#include "membership/agent/agent_core.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "membership/records.h"
#include "rpc/cluster_identity.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::ViewRecord;

constexpr absl::Duration kComplainEvery = absl::Seconds(5);

}  // namespace

AgentCore::AgentCore(Options options)
    : options_(std::move(options)),
      steps_(options_.medium_time),
      lease_(options_.peer_lease_time),
      known_(options_.cluster_id, options_.chain_id),
      turns_(options_.managers),
      clusters_(options_.managers),
      patience_(options_.deadline) {}

void AgentCore::Begin(const Member& self, absl::Time now) {
  self_ = self;
  // It does not know what its heap held before it began to receive the state.
  lease_.Begin(self,
               /*was_member=*/known_.report().member_view > 0 ||
                   known_.report().condition == Condition::kReceiving ||
                   known_.report().condition == Condition::kBehind,
               now);
}

AgentCore::Call AgentCore::Next(absl::Time now) {
  const NodeReport& report =
      known_.NextReport(Late(now), options_.process, stopping_);
  Call call;
  call.asks_cluster = AsksClusters();
  call.manager =
      call.asks_cluster ? options_.managers[asked_] : turns_.current();
  call.sent = now;
  call.deadline = patience_.Deadline(lease_.length());
  call.anew =
      !clusters_.IsForeign(call.manager) && patience_.TakesNewConnection(now);
  call.registers = !registered_ && !call.asks_cluster;
  if (call.registers) {
    call.registration.set_cluster_id(options_.cluster_id);
    call.registration.set_chain_id(options_.chain_id);
    *call.registration.mutable_member() = ToProto(self_);
    *call.registration.mutable_report() = ToProto(report);
    if (known_.has_view()) {
      *call.registration.mutable_newest_view() = known_.view();
    }
    call.registration.set_lease_term(lease_.term());
  } else {
    call.heartbeat.set_cluster_id(options_.cluster_id);
    call.heartbeat.set_chain_id(options_.chain_id);
    call.heartbeat.set_node_id(self_.node_id);
    call.heartbeat.set_incarnation(self_.incarnation);
    *call.heartbeat.mutable_report() = ToProto(report);
    call.heartbeat.set_lease_term(lease_.term());
  }
  return call;
}

bool AgentCore::IsAnswer(const Answer& answer) {
  const bool lost = absl::IsDeadlineExceeded(answer.status) ||
                    absl::IsUnavailable(answer.status);
  return !lost || !answer.cluster_uuid.empty() ||
         rpc::LeaderIn(answer.status).has_value();
}

AgentCore::Effects AgentCore::OnAnswer(const Call& call, const Answer& answer,
                                       absl::Time now) {
  // An answer from another cluster's manager does not show that this cluster's
  // managers are reachable.
  if (!rpc::IsOtherCluster(answer.status)) {
    if (IsAnswer(answer)) {
      patience_.OnAnswer(call.sent, answer.status, now);
    } else {
      patience_.OnSilence(call.sent, answer.status, answer.connected);
    }
  }
  const Answer checked = Checked(call, answer);
  clusters_.Note(call.manager, answer.cluster_uuid,
                 rpc::IsOtherCluster(checked.status), known_.OwnCluster(), now);
  Effects effects;
  if (known_.IsOfNoCluster()) effects.refused = clusters_.CheckAlike();
  if (call.asks_cluster) ++asked_;
  if (call.asks_cluster || !effects.refused.ok()) return effects;
  return call.registers ? OnRegistered(call, checked, now)
                        : OnHeartbeat(call, checked, now);
}

AgentCore::Answer AgentCore::Checked(const Call& call,
                                     const Answer& answer) const {
  Answer checked = answer;
  if (!answer.status.ok()) return checked;
  const auto check = [this](const auto& response) {
    return known_.Check(response.chain_id(), response.view(),
                        {response.lease_epoch(), response.lease_view_id(),
                         response.lease_view_digest()});
  };
  checked.status =
      call.registers ? check(answer.registration) : check(answer.heartbeat);
  return checked;
}

AgentCore::Effects AgentCore::OnRegistered(const Call& call,
                                           const Answer& answer,
                                           absl::Time now) {
  Effects effects;
  if (answer.status.ok()) {
    const auto& response = answer.registration;
    turns_.OnSuccess();
    registered_ = true;
    takeover_until_ = absl::InfiniteFuture();
    interval_ = absl::Milliseconds(
        std::max<uint32_t>(response.heartbeat_interval_ms(), 1));
    effects.view = TakeView(response.view(), now);
    lease_.Take(call.sent, response.lease_ms(), response.lease_view_id(),
                response.lease_term());
    effects.wait = interval_;
    return effects;
  }
  effects.refused = Refusal(answer, now);
  if (effects.refused.ok()) OnFailure(answer, now);
  effects.wait = RetryAfter();
  return effects;
}

absl::Status AgentCore::Refusal(const Answer& answer, absl::Time now) {
  if (absl::IsAlreadyExists(answer.status)) {
    // A process that has just died still counts as alive for a moment, whatever
    // standbys and silent managers report meanwhile.
    if (takeover_until_ == absl::InfiniteFuture()) {
      takeover_until_ = now + options_.takeover_timeout;
    }
    return now < takeover_until_ ? absl::OkStatus() : answer.status;
  }
  // Another cluster may use an address of --managers: the node goes on to its
  // other managers. It ends only at a start, where it has no other one.
  if (rpc::IsOtherCluster(answer.status)) {
    return known_.has_view() ? absl::OkStatus()
                             : clusters_.CheckAnyOwn(known_.OwnCluster());
  }
  switch (answer.status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
      return answer.status;
    case absl::StatusCode::kUnimplemented:
      return absl::UnimplementedError(
          absl::StrCat(turns_.current(),
                       " answers, but is no manager (a node or etcd, "
                       "perhaps); check --managers"));
    default:
      return absl::OkStatus();
  }
}

AgentCore::Effects AgentCore::OnHeartbeat(const Call& call,
                                          const Answer& answer,
                                          absl::Time now) {
  Effects effects;
  if (answer.status.ok()) {
    const auto& response = answer.heartbeat;
    turns_.OnSuccess();
    if (response.has_view()) effects.view = TakeView(response.view(), now);
    effects.invited = response.join();
    lease_.Take(call.sent, response.lease_ms(), response.lease_view_id(),
                response.lease_term());
    effects.wait = interval_;
    if (response.again_ms() > 0) {
      effects.wait =
          std::min(interval_, absl::Milliseconds(response.again_ms()));
    }
    // An answer to an earlier request is not one to its surrender.
    if (stopping_ != Stopping::kNo &&
        FromProto(call.heartbeat.report()).stopping == stopping_) {
      effects.stop_permission = FromProto(response.parting());
    }
    return effects;
  }
  // It would be admitted again, as a node that continues.
  if (stopping_ == Stopping::kSurrendered) {
    OnFailure(answer, now);
    effects.wait = RetryAfter();
    return effects;
  }
  // The registration would fail for the same reason, so its answer decides.
  if (absl::IsNotFound(answer.status) ||
      absl::IsInvalidArgument(answer.status)) {
    LOG(WARNING) << "the manager at " << turns_.current()
                 << " does not take this node's heartbeat ("
                 << answer.status.message() << "); registering again";
    registered_ = false;
    return effects;
  }
  OnFailure(answer, now);
  effects.wait = RetryAfter();
  return effects;
}

void AgentCore::OnFailure(const Answer& answer, absl::Time now) {
  // ManagerClusters logs managers of other clusters.
  if (now >= next_complaint_ && !rpc::IsOtherCluster(answer.status)) {
    next_complaint_ = now + kComplainEvery;
    LOG(WARNING) << "manager at " << turns_.current() << ": "
                 << answer.status.message() << "; trying again";
  }
  turns_.OnFailure(rpc::LeaderIn(answer.status).value_or(""));
}

void AgentCore::Surrender() {
  lease_.End();
  stopping_ = Stopping::kSurrendered;
}

void AgentCore::SetReport(const NodeReport& report) {
  known_.SetReport(report);
  if (!report.heap_id.empty()) self_.heap_id = report.heap_id;
}

std::optional<View> AgentCore::TakeView(const ViewRecord& record,
                                        absl::Time now) {
  if (record.view_id() <= known_.view().view_id()) return std::nullopt;
  if (!lease_.LetsViewChange(now)) return std::nullopt;
  known_.SetView(record);
  View view = FromProto(record);
  lease_.OnView(view);
  return view;
}

}  // namespace kamino::membership
