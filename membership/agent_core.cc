#include "membership/agent_core.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "membership/records.h"
#include "rpc/cluster_identity.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::ViewRecord;

constexpr absl::Duration kComplainEvery = absl::Seconds(5);
// With a connection that brings no answer: initial and maximum patience.
constexpr absl::Duration kFirstPatience = absl::Seconds(1);
constexpr absl::Duration kMostPatience = absl::Seconds(8);
// Limit of a call's deadline, in multiples of the first one, and as a part of a
// lease.
constexpr int kMostDeadlines = 8;
constexpr int kDeadlinesInALease = 4;
// Requests to one member per lease, or per peer lease if that is shorter.
constexpr int kAskedInALease = 8;
constexpr absl::Duration kMinVouchInterval = absl::Milliseconds(5);
// Steps of the core that take this part of a lease are slow: far longer than
// any piece of work.
constexpr int kLongSteps = 4;
// An idle core ticks every 25 ms, which is not slow.
constexpr absl::Duration kLeastLongStep = absl::Milliseconds(50);
// Limit, in leases, of a step that waits for the medium.
constexpr int kLeasesInMedium = 2;

// The outline of a view that fits into a request: its id, its members, and the
// levels in force. Levels of 0 bind no node, and there may be many of them, so
// they are left out.
ViewRecord Outline(const ViewRecord& record) {
  ViewRecord outline = record;
  for (kamino::v1::Member& member : *outline.mutable_members()) {
    member.clear_address();
    member.mutable_instance()->clear_link_addresses();
    member.mutable_instance()->clear_agreement_ranges();
  }
  outline.clear_in_force();
  for (const auto& [name, value] : record.in_force()) {
    if (value > 0) (*outline.mutable_in_force())[name] = value;
  }
  return outline;
}

}  // namespace

AgentCore::AgentCore(Options options)
    : options_(std::move(options)),
      vouching_(options_.vouch),
      turns_(options_.managers),
      clusters_(options_.managers),
      patience_(kFirstPatience) {}

void AgentCore::Begin(const Member& self, absl::Time now) {
  self_ = self;
  // It does not know what its heap held before it began to receive the state.
  vouching_.Begin(self,
                  /*was_member=*/report_.member_view > 0 ||
                      report_.condition == Condition::kReceiving ||
                      report_.condition == Condition::kBehind,
                  now);
}

AgentCore::Call AgentCore::Next(absl::Time now) {
  report_.late = Late(now);
  report_.process = options_.process;
  report_.stopping = stopping_;
  ++report_.call;
  Call call;
  call.asks_cluster = AsksClusters();
  call.manager =
      call.asks_cluster ? options_.managers[asked_] : turns_.current();
  call.sent = now;
  call.deadline = CallDeadline();
  call.anew = !clusters_.IsForeign(call.manager) && TakesNewConnection(now);
  call.registers = !registered_ && !call.asks_cluster;
  if (call.registers) {
    call.registration.set_cluster_id(options_.cluster_id);
    call.registration.set_chain_id(options_.chain_id);
    *call.registration.mutable_member() = ToProto(self_);
    *call.registration.mutable_report() = ToProto(report_);
    if (last_view_.view_id() != 0) {
      *call.registration.mutable_newest_view() = last_view_;
    }
    call.registration.set_lease_term(lease_term_);
  } else {
    call.heartbeat.set_cluster_id(options_.cluster_id);
    call.heartbeat.set_chain_id(options_.chain_id);
    call.heartbeat.set_node_id(self_.node_id);
    call.heartbeat.set_incarnation(self_.incarnation);
    *call.heartbeat.mutable_report() = ToProto(report_);
    call.heartbeat.set_lease_term(lease_term_);
  }
  return call;
}

bool AgentCore::IsAnswer(const Answer& answer) {
  const bool lost = absl::IsDeadlineExceeded(answer.status) ||
                    absl::IsUnavailable(answer.status);
  return !lost || !answer.cluster_uuid.empty() ||
         rpc::LeaderIn(answer.status).has_value();
}

void AgentCore::NoteReached(const Call& call, const Answer& answer,
                            absl::Time now) {
  if (!IsAnswer(answer)) {
    silent_since_ = std::min(silent_since_, call.sent);
    // A longer call to a dead machine would only delay the calls to the other
    // managers.
    if (absl::IsDeadlineExceeded(answer.status) && answer.connected) {
      ++late_calls_;
    }
    return;
  }
  silent_since_ = absl::InfiniteFuture();
  patience_ = kFirstPatience;
  // A fast answer of a standby says nothing about a slow leader. After a slow
  // answer the next call needs as long.
  if (!rpc::LeaderIn(answer.status).has_value() &&
      now - call.sent <= options_.deadline / 2) {
    late_calls_ = 0;
  }
}

absl::Duration AgentCore::CallDeadline() const {
  const absl::Duration first = options_.deadline;
  const absl::Duration most = std::max(
      first, std::min(kMostDeadlines * first, lease_ / kDeadlinesInALease));
  absl::Duration deadline = first;
  for (int i = 0; i < late_calls_ && deadline < most; ++i) deadline *= 2;
  return std::min(deadline, most);
}

bool AgentCore::TakesNewConnection(absl::Time now) {
  if (now - silent_since_ < patience_) return false;
  silent_since_ = now;
  patience_ = std::min(2 * patience_, kMostPatience);
  return true;
}

bool AgentCore::Hangs(absl::Time now) const {
  const absl::Duration step = now - progress_;
  if (step <= lease_) return false;
  return step - (MediumTime() - medium_time_) > lease_ ||
         step > lease_ * kLeasesInMedium;
}

absl::Duration AgentCore::MediumTime() const {
  return options_.medium_time == nullptr ? absl::ZeroDuration()
                                         : options_.medium_time();
}

absl::Duration AgentCore::LongStep() const {
  return std::max(lease_ / kLongSteps, kLeastLongStep);
}

void AgentCore::NoteProgress(absl::Time now) {
  if (now <= progress_) return;
  if (progress_ != absl::InfinitePast()) {
    lateness_.Add(now - progress_, LongStep());
  }
  progress_ = now;
  medium_time_ = MediumTime();
}

absl::Duration AgentCore::Late(absl::Time now) const {
  Lateness lateness = lateness_;
  const absl::Duration step = now - progress_;  // it may still last
  if (progress_ < now && progress_ != absl::InfinitePast() &&
      step > LongStep()) {
    lateness.Add(step, LongStep());
  }
  return lateness.of_a_second();
}

AgentCore::Effects AgentCore::OnAnswer(const Call& call, const Answer& answer,
                                       absl::Time now) {
  // An answer from another cluster's manager does not show that this cluster's
  // managers are reachable.
  if (!rpc::IsOtherCluster(answer.status)) NoteReached(call, answer, now);
  const Answer checked = Checked(call, answer);
  clusters_.Note(call.manager, answer.cluster_uuid,
                 rpc::IsOtherCluster(checked.status), OwnCluster(), now);
  Effects effects;
  if (IsOfNoCluster()) effects.refused = clusters_.CheckAlike();
  if (call.asks_cluster) ++asked_;
  if (call.asks_cluster || !effects.refused.ok()) return effects;
  return call.registers ? OnRegistered(call, checked, now)
                        : OnHeartbeat(call, checked, now);
}

AgentCore::Answer AgentCore::Checked(const Call& call,
                                     const Answer& answer) const {
  Answer checked = answer;
  if (!answer.status.ok()) return checked;
  const ChainId chain_id = call.registers ? answer.registration.chain_id()
                                          : answer.heartbeat.chain_id();
  const ViewRecord& view =
      call.registers ? answer.registration.view() : answer.heartbeat.view();
  if (chain_id != options_.chain_id) {
    checked.status = absl::FailedPreconditionError(
        absl::StrCat("it answers for chain ", chain_id,
                     "; this node is one of chain ", options_.chain_id));
  } else if (view.view_id() != 0 &&
             (view.cluster_id() != options_.cluster_id ||
              view.chain_id() != options_.chain_id || view.members().empty())) {
    checked.status = absl::FailedPreconditionError(
        absl::StrCat("it sends a view of ", view.members_size(),
                     " members of chain ", view.chain_id(), " of cluster ",
                     view.cluster_id(), "; this node is one of chain ",
                     options_.chain_id, " of cluster ", options_.cluster_id));
  } else {
    checked.status = CheckCluster(view);
  }
  if (checked.status.ok()) {
    checked.status =
        call.registers ? CheckHistory({answer.registration.lease_epoch(),
                                       answer.registration.lease_view_id(),
                                       answer.registration.lease_view_digest()})
                       : CheckHistory({answer.heartbeat.lease_epoch(),
                                       answer.heartbeat.lease_view_id(),
                                       answer.heartbeat.lease_view_digest()});
  }
  return checked;
}

absl::Status AgentCore::CheckCluster(const ViewRecord& view) const {
  if (view.cluster_uuid().empty() || report_.cluster_uuid.empty() ||
      view.cluster_uuid() == report_.cluster_uuid) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "it leads another cluster named ", options_.cluster_id,
      " than the one of this node's data: the two have different uuids"));
}

absl::Status AgentCore::CheckHistory(const KnownView& newest) const {
  KnownView known{report_.epoch, report_.member_view, 0};
  const KnownView last{last_view_.epoch(), last_view_.view_id(),
                       last_view_.digest()};
  if (!last.IsBefore(known)) known = last;
  const bool another = newest.id == last.id && newest.digest != 0 &&
                       last.digest != 0 && newest.digest != last.digest;
  if (!newest.IsBefore(known) && !another) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "its newest view is ", another ? "another " : "", newest.id,
      ", this node knows view ", known.id,
      ": the store of views was emptied or restored from an older copy"));
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
    TakeLease(call.sent, response.lease_ms(), response.lease_view_id(),
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
    return last_view_.view_id() == 0 ? clusters_.CheckAnyOwn(OwnCluster())
                                     : absl::OkStatus();
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
    TakeLease(call.sent, response.lease_ms(), response.lease_view_id(),
              response.lease_term());
    effects.wait = interval_;
    if (response.again_ms() > 0) {
      effects.wait =
          std::min(interval_, absl::Milliseconds(response.again_ms()));
    }
    // An answer to an earlier request is not one to its surrender.
    if (stopping_ != Stopping::kNo &&
        FromProto(call.heartbeat.report()).stopping == stopping_) {
      effects.parting = FromProto(response.parting());
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

std::string AgentCore::OwnCluster() const {
  return rpc::ClusterName(
      options_.cluster_id,
      absl::BytesToHexString(last_view_.cluster_uuid().empty()
                                 ? report_.cluster_uuid
                                 : last_view_.cluster_uuid()));
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

void AgentCore::EndLease() {
  ended_ = true;
  lease_until_ = absl::InfinitePast();
}

void AgentCore::Surrender() {
  EndLease();
  stopping_ = Stopping::kSurrendered;
}

void AgentCore::SetReport(const NodeReport& report) {
  const NodeReport before = report_;
  report_ = report;
  report_.call = before.call;
  if (!report.heap_id.empty()) self_.heap_id = report.heap_id;
  if (before.view_id <= report.view_id) return;
  report_.view_id = before.view_id;
  report_.view_digest = before.view_digest;
  report_.view_epoch = before.view_epoch;
}

void AgentCore::TakeLease(absl::Time sent, uint32_t lease_ms,
                          uint64_t lease_view_id, uint64_t lease_term) {
  if (ended_) return;
  lease_ = absl::Milliseconds(lease_ms);
  lease_until_ = sent + lease_;
  lease_term_ = lease_term;
  lease_view_id_ = std::max(lease_view_id_, lease_view_id);
}

std::optional<View> AgentCore::TakeView(const ViewRecord& record,
                                        absl::Time now) {
  if (record.view_id() <= last_view_.view_id()) return std::nullopt;
  if (now < vouching_.given_until()) {
    vouching_.Supersede();
    return std::nullopt;
  }
  last_view_ = Outline(record);
  View view = FromProto(record);
  vouching_.SetView(view);
  return view;
}

// --- Without a manager.

absl::Duration AgentCore::vouch_interval() const {
  return std::max(std::min(lease_, options_.vouch) / kAskedInALease,
                  kMinVouchInterval);
}

std::vector<Vouching::Call> AgentCore::NextVouches(absl::Time now) {
  NoteWhoAnswers(now);
  if (ended_ || !LacksManager(now)) return {};
  return vouching_.Next(now);
}

void AgentCore::OnVouch(const Vouching::Call& call,
                        const Vouching::Answer& answer) {
  vouching_.OnAnswer(call, answer);
}

void AgentCore::NoteWhoAnswers(absl::Time now) {
  const bool leased = now < lease_until_;
  const bool stood_in = !leased && LeaseValid(last_view_.view_id(), now);
  if (std::exchange(stood_in_, stood_in) == stood_in) return;
  LOG(WARNING) << (stood_in
                       ? "no manager answers; the members of this view renew "
                         "each other's leases, and the chain goes on as it is"
                   : leased ? "a manager answers again"
                            : "neither a manager nor all other members answer: "
                              "this node answers nothing by itself until they "
                              "do");
}

Vouching::Answer AgentCore::Vouch(
    const kamino::internal::v1::VouchRequest& request, absl::Time now) {
  Vouching::Answer answer;
  answer.status = ended_
                      ? absl::FailedPreconditionError("this node is stopping")
                      : vouching_.Give(request, !LacksManager(now), now);
  if (answer.status.ok()) {
    answer.response.set_vouch_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(vouching_.time())));
  }
  return answer;
}

}  // namespace kamino::membership
