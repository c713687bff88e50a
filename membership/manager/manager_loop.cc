#include "membership/manager/manager_loop.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
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
using Kind = EtcdCall::Kind;

constexpr absl::Duration kRetry = absl::Milliseconds(200);

// How long the leader relies on a renewal, from when it was sent. Standbys wait
// for the whole time, from when they saw it: a tenth is left for clocks that
// run at different rates.
absl::Duration LeadershipOf(absl::Duration ttl) { return ttl * 0.9; }

uint32_t Milliseconds(absl::Duration time) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(time));
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

absl::Status PutBack() {
  return absl::DataLossError(
      "etcd was restored from an older copy: the last stored view is gone");
}

}  // namespace

ManagerLoop::ManagerLoop(Options options)
    : options_(std::move(options)),
      calls_(options_.core, options_.etcd_prefix, SettingsOf(options_)),
      core_(options_.core),
      seen_(calls_.own(), options_.leader_ttl, options_.core.lease()) {}

// --- The election.

ManagerLoop::Step ManagerLoop::Next(absl::Time now) {
  CHECK(!round_.outstanding.has_value()) << "a call has no answer yet";
  Step step;
  step.wait = std::exchange(round_.wait, absl::ZeroDuration());
  if (step.wait > absl::ZeroDuration()) return step;
  step.call = NextCall(now);
  if (step.call.has_value()) {
    round_.outstanding = step.call->kind;
    round_.sent = now;
  } else {
    step.wait = options_.poll_interval;
  }
  return step;
}

std::optional<EtcdCall> ManagerLoop::NextCall(absl::Time now) {
  if (give_back_ != 0) {
    return RenewCall(std::exchange(give_back_, 0), /*resigns=*/true, now);
  }
  if (leadership_.holds) return NextCallAsLeader(now);
  if (!std::exchange(campaigns_, false)) return calls_.Look();
  // The transaction compares with the values seen, so nothing newer is lost.
  return calls_.Campaign(seen_.leader_revision(), seen_.renewal_revision(),
                         seen_.FormerLeases(), ChainRecordIn(seen_.renewal()));
}

std::optional<EtcdCall> ManagerLoop::NextCallAsLeader(absl::Time now) {
  const absl::Duration whole = LeadershipOf(options_.leader_ttl);
  if (leadership_.until - now < whole * 2 / 3) {
    return RenewCall(leadership_.revision, /*resigns=*/false, now);
  }
  const std::optional<View> view = core_.ProposeView(now);
  log_.Tell(core_, now);
  if (view.has_value()) {
    return calls_.Replace(leadership_.revision, *view,
                          leadership_.view_revision);
  }
  if (!options_.compacts) return std::nullopt;
  const std::optional<int64_t> revision = compaction_.Due(now);
  if (!revision.has_value()) return std::nullopt;
  return calls_.Compact(*revision);
}

EtcdCall ManagerLoop::RenewCall(int64_t leader_revision, bool resigns,
                                absl::Time now) const {
  const ChainRecord chain = leadership_.holds
                                ? ChainRecord{core_.old_copies().progress(),
                                              core_.places().away_times(now)}
                                : last_;
  return calls_.Renew(leader_revision, resigns, former_leases_until_ - now,
                      chain);
}

void ManagerLoop::OnAnswer(const EtcdAnswer& answer, absl::Time now) {
  CHECK(round_.outstanding.has_value()) << "an answer to no call";
  switch (*std::exchange(round_.outstanding, std::nullopt)) {
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
  round_.wait = kRetry;
  if (!answer.status.ok()) return log_.Complain(answer.status, now);
  Watch(answer.seen, now);
  if (!seen_.MayTakeOver(leadership_.revision, now)) return;
  // A manager of a newer version may understand it.
  if (auto view = ViewIn(answer.seen.view, options_.core); !view.ok()) {
    return log_.Complain(view.status(), now);
  }
  campaigns_ = true;
  round_.wait = absl::ZeroDuration();
}

void ManagerLoop::Watch(const Etcd::Stored& stored, absl::Time now) {
  seen_.Watch(stored, now);
  // A standby also tells nodes and clients which cluster it belongs to.
  if (const auto view = ViewIn(stored.view, options_.core);
      view.ok() && !view->cluster_uuid.empty()) {
    cluster_uuid_ = view->cluster_uuid;
  }
}

void ManagerLoop::OnElection(const EtcdAnswer& answer, absl::Time now) {
  if (!answer.status.ok()) {
    // If this manager has won, it does not know it, and waits as for another
    // one.
    round_.wait = kRetry;
    return log_.Complain(answer.status, now);
  }
  if (!answer.election.won) {
    round_.wait = kRetry;
    return Watch(answer.election.stored, now);
  }
  const Etcd::Stored& stored = answer.election.stored;
  auto view = ViewIn(stored.view, options_.core);
  if (view.ok()) return StartLeading(stored, *view, now);
  log_.Complain(view.status(), now);
  last_ = ChainRecordIn(seen_.renewal());
  former_leases_until_ = now + seen_.FormerLeases();
  give_back_ = stored.leader.mod_revision;
}

void ManagerLoop::StartLeading(const Etcd::Stored& stored, const View& view,
                               absl::Time now) {
  leadership_.holds = true;
  leadership_.until = round_.sent + LeadershipOf(options_.leader_ttl);
  leadership_.revision = stored.leader.mod_revision;
  leadership_.view_revision = stored.view.mod_revision;
  // Not etcd's revision, which repeats when its data is restored.
  ++leadership_.number;
  seen_.OnLeading();
  compaction_.Begin(stored.renewal.mod_revision, now);
  const absl::Duration former_leases = seen_.FormerLeases();
  const ChainRecord former = ChainRecordIn(seen_.renewal());
  former_leases_until_ = now + former_leases;
  core_.BecomeLeader(
      view, former_leases, now, former.progress,
      options_.process == 0 ? 0 : options_.process + leadership_.number);
  core_.places().NoteAway(former.away, now);
  core_.ExtendLeadership(leadership_.until);
  log_.Say(google::GLOG_INFO,
           absl::StrCat(options_.name, " is the leader of cluster ",
                        options_.core.cluster_id, "; ", view.ToString()),
           now);
}

void ManagerLoop::OnRenewed(const EtcdAnswer& answer, absl::Time now) {
  if (!leadership_.holds) {  // it was resigned
    round_.wait = kRetry;
    return;
  }
  if (answer.status.ok()) {
    // A revision that goes back shows that etcd was restored; one that is ahead
    // is of a view whose write etcd did not confirm.
    if (answer.seen.view.mod_revision < leadership_.view_revision) {
      return StepDown(PutBack());
    }
    // Or an operator has stored a newer one, as a store that is behind needs.
    if (answer.seen.view.mod_revision > leadership_.view_revision &&
        core_.watch().behind() && !core_.writes_view()) {
      give_back_ = leadership_.revision;
      return StepDown(absl::DataLossError(
          "the view stored at etcd is not the last one of this manager"));
    }
    compaction_.OnRenewed(answer.seen.renewal.mod_revision);
    leadership_.until = round_.sent + LeadershipOf(options_.leader_ttl);
    return core_.ExtendLeadership(leadership_.until);
  }
  if (absl::IsAborted(answer.status)) return StepDown(answer.status);
  // Leases of nodes stay valid until the leadership ends.
  log_.Complain(answer.status, now);
  round_.wait = options_.poll_interval;
  if (now < leadership_.until) return;
  StepDown(answer.status);
  round_.wait = kRetry;
}

void ManagerLoop::OnStored(const EtcdAnswer& answer, absl::Time now) {
  if (absl::IsAborted(answer.status)) return StepDown(answer.status);
  round_.wait = options_.poll_interval;
  if (!answer.status.ok()) {
    return log_.Complain(answer.status, now);  // tried again
  }
  if (answer.stored.mod_revision < leadership_.view_revision) {
    return StepDown(PutBack());
  }
  auto stored = ViewIn(answer.stored, options_.core);
  if (!stored.ok()) {
    give_back_ = leadership_.revision;
    return StepDown(stored.status());
  }
  leadership_.view_revision = answer.stored.mod_revision;
  core_.OnViewStored(*stored);
  recovery_.OnStored(*stored);
  log_.Say(google::GLOG_INFO, absl::StrCat("stored ", stored->ToString()), now);
}

void ManagerLoop::StepDown(const absl::Status& why) {
  LOG(WARNING) << options_.name << " leads no more: " << why.message();
  cluster_uuid_ = cluster_uuid();
  recovery_.OnLost();
  leadership_.holds = false;
  seen_.OnLost();
  last_.away = core_.places().away_times(round_.sent);
  core_.LoseLeadership();
  last_.progress = core_.old_copies().progress();
}

std::optional<EtcdCall> ManagerLoop::Resign(absl::Time now) {
  // First, because another manager may lead as soon as etcd has it.
  last_.away = core_.places().away_times(now);
  core_.LoseLeadership();
  last_.progress = core_.old_copies().progress();
  recovery_.OnLost();
  if (!std::exchange(leadership_.holds, false)) return std::nullopt;
  return RenewCall(leadership_.revision, /*resigns=*/true, now);
}

// --- Recoveries.

absl::StatusOr<RecoveryPlan> ManagerLoop::Recover(bool force, absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  ASSIGN_OR_RETURN(RecoveryPlan recovery,
                   core_.recoveries().Recover(force, now));
  recovery_.Begin(recovery.view);
  return recovery;
}

// --- Nodes.

absl::Status ManagerLoop::CheckLeading(absl::Time now) const {
  if (core_.IsLeader(now)) return absl::OkStatus();
  return rpc::NotLeader(seen_.NameFor(now), options_.core.chain_id);
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
        ToProto(core_.stops().PermissionFor(request.node_id(), now)));
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
