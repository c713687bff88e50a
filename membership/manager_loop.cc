#include "membership/manager_loop.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "membership/manager_settings.h"
#include "membership/member_identity.h"
#include "membership/records.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::RenewalRecord;
using kamino::internal::v1::ViewRecord;
using Kind = EtcdCall::Kind;

constexpr absl::Duration kRetry = absl::Milliseconds(200);
constexpr absl::Duration kCompactEvery = absl::Hours(1);

// How long the leader relies on a renewal, from when it was sent. Standbys wait
// for the whole time, from when they saw it: a tenth is left for clocks that
// run at different rates.
absl::Duration LeadershipOf(absl::Duration ttl) { return ttl * 0.9; }

uint32_t Milliseconds(absl::Duration time) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(time));
}

Etcd::Keys KeysOf(const ManagerLoop::Options& options) {
  const std::string cluster =
      absl::StrCat(options.etcd_prefix, "/", options.core.cluster_id, "/");
  Etcd::Keys keys;
  keys.leader = absl::StrCat(cluster, "leader");
  keys.renewal = absl::StrCat(cluster, "renewal");
  keys.view = absl::StrCat(cluster, "chains/", options.core.chain_id, "/view");
  return keys;
}

// The settings in renewals.
RenewalRecord SettingsOf(const ManagerLoop::Options& options) {
  RenewalRecord record;
  record.set_leader(options.name);
  record.set_ttl_ms(Milliseconds(options.leader_ttl));
  kamino::v1::ManagerSettings& settings = *record.mutable_settings();
  settings.set_chain_length(static_cast<uint32_t>(options.core.chain_length));
  settings.set_failure_timeout_ms(Milliseconds(options.core.failure_timeout));
  settings.set_heartbeat_interval_ms(
      Milliseconds(options.core.heartbeat_interval));
  settings.set_leader_ttl_ms(Milliseconds(options.leader_ttl));
  settings.set_compacts_etcd(options.compacts);
  settings.set_away_limit_s(
      static_cast<uint32_t>(absl::ToInt64Seconds(options.core.away_limit)));
  return record;
}

AwayTimes AwayTimesIn(const RenewalRecord& renewal) {
  AwayTimes times;
  for (const auto& [node_id, ms] : renewal.away_ms()) {
    times[node_id] = absl::Milliseconds(
        std::min<uint64_t>(ms, std::numeric_limits<int32_t>::max()));
  }
  return times;
}

absl::Status PutBack() {
  return absl::DataLossError(
      "etcd was restored from an older copy: the last stored view is gone");
}

absl::StatusOr<View> Parse(const Etcd::Value& value,
                           const ManagerOptions& options) {
  if (value.mod_revision == 0) return View();
  ViewRecord record;
  if (!record.ParseFromString(value.value) || record.view_id() == 0 ||
      record.members().empty() || record.cluster_id() != options.cluster_id ||
      record.chain_id() != options.chain_id) {
    return absl::DataLossError(
        absl::StrCat("the view stored at etcd is not one of chain ",
                     options.chain_id, " of cluster ", options.cluster_id));
  }
  return FromProto(record);
}

}  // namespace

ManagerLoop::ManagerLoop(Options options)
    : options_(std::move(options)),
      keys_(KeysOf(options_)),
      own_settings_(SettingsOf(options_)),
      core_(options_.core) {}

// --- The election.

ManagerLoop::Step ManagerLoop::Next(absl::Time now) {
  CHECK(!outstanding_.has_value()) << "a call has no answer yet";
  Step step;
  step.wait = std::exchange(wait_, absl::ZeroDuration());
  if (step.wait > absl::ZeroDuration()) return step;
  step.call = NextCall(now);
  if (step.call.has_value()) {
    outstanding_ = step.call->kind;
    sent_ = now;
  } else {
    step.wait = options_.poll_interval;
  }
  return step;
}

std::optional<EtcdCall> ManagerLoop::NextCall(absl::Time now) {
  if (give_back_ != 0) {
    return RenewCall(std::exchange(give_back_, 0), /*resigns=*/true, now);
  }
  if (leading_) return NextCallAsLeader(now);
  if (std::exchange(campaigns_, false)) return CampaignCall();
  return MakeCall(Kind::kLook);
}

std::optional<EtcdCall> ManagerLoop::NextCallAsLeader(absl::Time now) {
  const absl::Duration whole = LeadershipOf(options_.leader_ttl);
  if (leader_until_ - now < whole * 2 / 3) {
    return RenewCall(leader_revision_, /*resigns=*/false, now);
  }
  const std::optional<View> view = core_.ProposeView(now);
  log_.Tell(core_, now);
  if (view.has_value()) return ReplaceCall(*view);
  if (!options_.compacts || now < next_compaction_) return std::nullopt;
  next_compaction_ = now + kCompactEvery;
  EtcdCall call = MakeCall(Kind::kCompact);
  call.compact_revision = std::exchange(compact_revision_, revision_);
  return call;
}

EtcdCall ManagerLoop::MakeCall(Kind kind) const {
  EtcdCall call;
  call.kind = kind;
  call.keys = keys_;
  call.leadership = {options_.name, leader_revision_};
  return call;
}

std::string ManagerLoop::Renewal(absl::Duration former_leases,
                                 const Progress& progress,
                                 const AwayTimes& away, bool resigns) const {
  RenewalRecord renewal;
  renewal.set_leader(options_.name);
  renewal.set_ttl_ms(Milliseconds(options_.leader_ttl));
  // The next leader must wait for former leaders' leases as well.
  renewal.set_node_lease_ms(
      Milliseconds(std::max(core_.options().lease(), former_leases)));
  renewal.set_resigned(resigns);
  *renewal.mutable_settings() = own_settings_.settings();
  *renewal.mutable_progress() = ToProto(progress, core_.options().chain_id);
  for (const auto& [node_id, time] : away) {
    (*renewal.mutable_away_ms())[node_id] =
        static_cast<uint64_t>(absl::ToInt64Milliseconds(time));
  }
  return renewal.SerializeAsString();
}

EtcdCall ManagerLoop::CampaignCall() const {
  EtcdCall call = MakeCall(Kind::kCampaign);
  call.leadership.revision = seen_leader_.mod_revision;
  call.renewal_revision = seen_renewal_.mod_revision;
  // The transaction compares with the values seen, so nothing newer is lost.
  call.renewal = Renewal(FormerLeases(), FromProto(renewal_.progress()),
                         AwayTimesIn(renewal_), /*resigns=*/false);
  return call;
}

EtcdCall ManagerLoop::RenewCall(int64_t leader_revision, bool resigns,
                                absl::Time now) const {
  EtcdCall call = MakeCall(Kind::kRenew);
  call.leadership.revision = leader_revision;
  call.renewal =
      Renewal(former_leases_until_ - now,
              leading_ ? core_.old_copies().progress() : last_progress_,
              leading_ ? core_.places().away_times(now) : last_away_, resigns);
  return call;
}

EtcdCall ManagerLoop::ReplaceCall(const View& view) const {
  EtcdCall call = MakeCall(Kind::kReplace);
  call.view = ToProto(view).SerializeAsString();
  call.expected_revision = view_revision_;
  return call;
}

void ManagerLoop::OnAnswer(const EtcdAnswer& answer, absl::Time now) {
  CHECK(outstanding_.has_value()) << "an answer to no call";
  switch (*std::exchange(outstanding_, std::nullopt)) {
    case Kind::kLook:
      return OnLooked(answer, now);
    case Kind::kCampaign:
      return OnElection(answer, now);
    case Kind::kRenew:
      return OnRenewed(answer, now);
    case Kind::kReplace:
      return OnStored(answer, now);
    case Kind::kCompact:
      if (!answer.status.ok()) log_.Complain(answer.status, now);
      return;
  }
}

void ManagerLoop::OnLooked(const EtcdAnswer& answer, absl::Time now) {
  wait_ = kRetry;
  if (!answer.status.ok()) return log_.Complain(answer.status, now);
  Watch(answer.seen, now);
  if (!MayTakeOver(now)) return;
  // A manager of a newer version may understand it.
  if (auto view = Parse(answer.seen.view, options_.core); !view.ok()) {
    return log_.Complain(view.status(), now);
  }
  campaigns_ = true;
  wait_ = absl::ZeroDuration();
}

void ManagerLoop::Watch(const Etcd::Stored& stored, absl::Time now) {
  const bool moved =
      stored.leader.mod_revision != seen_leader_.mod_revision ||
      stored.renewal.mod_revision != seen_renewal_.mod_revision ||
      unmoved_since_ == absl::InfinitePast();
  if (moved) {
    // Not from when etcd was asked, because the renewal may be later.
    unmoved_since_ = now;
    if (!renewal_.ParseFromString(stored.renewal.value)) renewal_.Clear();
    const std::string differs = SettingsDiffer(own_settings_, renewal_);
    const bool changed = std::exchange(settings_differ_, differs) != differs;
    LOG_IF(WARNING, changed && !differs.empty()) << differs;
  }
  // A standby also tells nodes and clients which cluster it belongs to.
  if (const auto view = Parse(stored.view, options_.core);
      view.ok() && !view->cluster_uuid.empty()) {
    cluster_uuid_ = view->cluster_uuid;
  }
  seen_leader_ = stored.leader;
  seen_renewal_ = stored.renewal;
  leader_ = renewal_.resigned() ? "" : stored.leader.value;
}

bool ManagerLoop::MayTakeOver(absl::Time now) const {
  // A leader of an older version does not renew: its key ends with its lease.
  if (seen_renewal_.mod_revision == 0) return seen_leader_.mod_revision == 0;
  if (renewal_.resigned()) return true;
  // This manager's own former leadership.
  if (seen_leader_.mod_revision == leader_revision_ &&
      renewal_.leader() == options_.name) {
    return true;
  }
  return now - unmoved_since_ >= SeenTtl();
}

absl::Duration ManagerLoop::SeenTtl() const {
  return renewal_.ttl_ms() > 0 ? absl::Milliseconds(renewal_.ttl_ms())
                               : options_.leader_ttl;
}

absl::Duration ManagerLoop::FormerLeases() const {
  // It was resigned, but leases may be valid.
  if (renewal_.node_lease_ms() > 0) {
    return absl::Milliseconds(renewal_.node_lease_ms());
  }
  // The keys were deleted, perhaps while a manager leads.
  return options_.leader_ttl + core_.options().lease();
}

void ManagerLoop::OnElection(const EtcdAnswer& answer, absl::Time now) {
  if (!answer.status.ok()) {
    // If this manager has won, it does not know it, and waits as for another
    // one.
    wait_ = kRetry;
    return log_.Complain(answer.status, now);
  }
  if (!answer.election.won) {
    wait_ = kRetry;
    return Watch(answer.election.stored, now);
  }
  const Etcd::Stored& stored = answer.election.stored;
  auto view = Parse(stored.view, options_.core);
  if (view.ok()) return StartLeading(stored, *view, now);
  log_.Complain(view.status(), now);
  last_progress_ = FromProto(renewal_.progress());
  last_away_ = AwayTimesIn(renewal_);
  former_leases_until_ = now + FormerLeases();
  give_back_ = stored.leader.mod_revision;
}

void ManagerLoop::StartLeading(const Etcd::Stored& stored, const View& view,
                               absl::Time now) {
  leading_ = true;
  settings_differ_.clear();
  leader_revision_ = stored.leader.mod_revision;
  view_revision_ = stored.view.mod_revision;
  revision_ = stored.renewal.mod_revision;
  compact_revision_ = revision_;
  next_compaction_ = now + kCompactEvery;
  leader_ = options_.name;
  leader_until_ = sent_ + LeadershipOf(options_.leader_ttl);
  former_leases_until_ = now + FormerLeases();
  // Not etcd's revision, which repeats when its data is restored.
  ++leaderships_;
  core_.BecomeLeader(
      view, FormerLeases(), now, FromProto(renewal_.progress()),
      options_.process == 0 ? 0 : options_.process + leaderships_);
  core_.places().NoteAway(AwayTimesIn(renewal_), now);
  core_.ExtendLeadership(leader_until_);
  log_.Say(google::GLOG_INFO,
           absl::StrCat(options_.name, " is the leader of cluster ",
                        options_.core.cluster_id, "; ", view.ToString()),
           now);
}

void ManagerLoop::OnRenewed(const EtcdAnswer& answer, absl::Time now) {
  if (!leading_) {  // it was resigned
    wait_ = kRetry;
    return;
  }
  if (answer.status.ok()) {
    // A revision that goes back shows that etcd was restored; one that is ahead
    // is of a view whose write etcd did not confirm.
    if (answer.seen.view.mod_revision < view_revision_) {
      return StepDown(PutBack());
    }
    // Or an operator has stored a newer one, as a store that is behind needs.
    if (answer.seen.view.mod_revision > view_revision_ &&
        !core_.watch().WhyBehind().empty() && !core_.writes_view()) {
      give_back_ = leader_revision_;
      return StepDown(absl::DataLossError(
          "the view stored at etcd is not the last one of this manager"));
    }
    revision_ = answer.seen.renewal.mod_revision;
    leader_until_ = sent_ + LeadershipOf(options_.leader_ttl);
    return core_.ExtendLeadership(leader_until_);
  }
  if (absl::IsAborted(answer.status)) return StepDown(answer.status);
  // Leases of nodes stay valid until the leadership ends.
  log_.Complain(answer.status, now);
  wait_ = options_.poll_interval;
  if (now < leader_until_) return;
  StepDown(answer.status);
  wait_ = kRetry;
}

void ManagerLoop::OnStored(const EtcdAnswer& answer, absl::Time now) {
  if (absl::IsAborted(answer.status)) return StepDown(answer.status);
  wait_ = options_.poll_interval;
  if (!answer.status.ok())
    return log_.Complain(answer.status, now);  // tried again
  if (answer.stored.mod_revision < view_revision_) return StepDown(PutBack());
  auto stored = Parse(answer.stored, options_.core);
  if (!stored.ok()) {
    give_back_ = leader_revision_;
    return StepDown(stored.status());
  }
  view_revision_ = answer.stored.mod_revision;
  core_.OnViewStored(*stored);
  if (recovering_.has_value()) {
    EndRecovery(stored->digest == recovering_->digest
                    ? absl::OkStatus()
                    : absl::AbortedError(absl::StrCat(
                          "not recovered: another view was stored instead, ",
                          stored->ToString())));
  }
  log_.Say(google::GLOG_INFO, absl::StrCat("stored ", stored->ToString()), now);
}

void ManagerLoop::StepDown(const absl::Status& why) {
  LOG(WARNING) << options_.name << " leads no more: " << why.message();
  cluster_uuid_ = cluster_uuid();
  EndRecovery(NotKnownWhether());
  leading_ = false;
  unmoved_since_ = absl::InfinitePast();
  leader_.clear();
  last_away_ = core_.places().away_times(sent_);
  core_.LoseLeadership();
  last_progress_ = core_.old_copies().progress();
}

std::optional<EtcdCall> ManagerLoop::Resign(absl::Time now) {
  // First, because another manager may lead as soon as etcd has it.
  last_away_ = core_.places().away_times(now);
  core_.LoseLeadership();
  last_progress_ = core_.old_copies().progress();
  EndRecovery(NotKnownWhether());
  if (!std::exchange(leading_, false)) return std::nullopt;
  return RenewCall(leader_revision_, /*resigns=*/true, now);
}

// --- Recoveries.

absl::StatusOr<RecoveryPlan> ManagerLoop::Recover(bool force, absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  ASSIGN_OR_RETURN(RecoveryPlan recovery,
                   core_.recoveries().Recover(force, now));
  recovering_ = recovery.view;
  recovered_.reset();
  return recovery;
}

absl::Status ManagerLoop::NotKnownWhether() const {
  return absl::AbortedError(
      "it is unknown whether the recovery's view was stored at etcd: kamino "
      "admin status shows the view in force");
}

void ManagerLoop::EndRecovery(const absl::Status& status) {
  if (!recovering_.has_value()) return;
  recovering_.reset();
  recovered_ = status;
}

// --- Nodes.

absl::Status ManagerLoop::CheckLeading(absl::Time now) const {
  if (core_.IsLeader(now)) return absl::OkStatus();
  // A leader that has not renewed for so long, or that this manager could not
  // look for, may be dead.
  const bool may_lead =
      leader_ != options_.name &&
      (seen_renewal_.mod_revision == 0 || now - unmoved_since_ < SeenTtl());
  return rpc::NotLeader(may_lead ? leader_ : "", options_.core.chain_id);
}

absl::Status ManagerLoop::Register(const RegisterRequest& request,
                                   RegisterResponse* response, absl::Time now,
                                   absl::string_view caller) {
  RETURN_IF_ERROR(CheckLeading(now));
  const ChainId chain_id = core_.options().chain_id;
  RETURN_IF_ERROR(CheckChain(request.chain_id(), chain_id));
  Member member = FromProto(request.member());
  RETURN_IF_ERROR(
      CheckCaller(core_.options().cluster_id, member.node_id, caller));
  member.identity = std::string(caller);  // whatever the node claims
  NodeReport report = FromProto(request.report());
  report.lease_term = request.lease_term();
  RETURN_IF_ERROR(core_.Register(request.cluster_id(), member, report, now,
                                 FromProto(request.newest_view())));
  response->set_lease_term(core_.lease_term());
  response->set_lease_ms(Milliseconds(core_.options().lease()));
  response->set_chain_id(chain_id);
  response->set_heartbeat_interval_ms(
      Milliseconds(core_.options().heartbeat_interval));
  *response->mutable_view() = ToProto(core_.view());
  response->set_lease_view_id(core_.view().id);
  response->set_lease_view_digest(core_.view().digest);
  response->set_lease_epoch(core_.view().epoch);
  return absl::OkStatus();
}

absl::Status ManagerLoop::Heartbeat(const HeartbeatRequest& request,
                                    HeartbeatResponse* response, absl::Time now,
                                    absl::string_view caller) {
  RETURN_IF_ERROR(CheckLeading(now));
  const ChainId chain_id = core_.options().chain_id;
  RETURN_IF_ERROR(CheckChain(request.chain_id(), chain_id));
  RETURN_IF_ERROR(
      CheckCaller(core_.options().cluster_id, request.node_id(), caller));
  ManagerCore::Beat beat;
  beat.node_id = request.node_id();
  beat.incarnation = request.incarnation();
  beat.report = FromProto(request.report());
  beat.report.lease_term = request.lease_term();
  RETURN_IF_ERROR(core_.Heartbeat(request.cluster_id(), beat, now));
  response->set_lease_term(core_.lease_term());
  response->set_lease_ms(Milliseconds(core_.options().lease()));
  if (core_.view().id > beat.report.view_id) {
    *response->mutable_view() = ToProto(core_.view());
  }
  response->set_chain_id(chain_id);
  response->set_lease_view_id(core_.view().id);
  response->set_lease_view_digest(core_.view().digest);
  response->set_lease_epoch(core_.view().epoch);
  response->set_join(core_.ShouldJoin(request.node_id(), now));
  if (beat.report.stopping != Stopping::kNo) {
    response->set_parting(
        ToProto(core_.stops().PartingFor(request.node_id(), now)));
  }
  response->set_again_ms(
      Milliseconds(core_.stops().CallAgainAfter(request.node_id(), now)));
  return absl::OkStatus();
}

absl::Status ManagerLoop::Administer(
    absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request,
    absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  return request(&core_, now);
}

}  // namespace kamino::membership
