#include "membership/manager_loop.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "membership/records.h"
#include "rpc/redirect.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::ViewRecord;
using Kind = EtcdCall::Kind;

constexpr absl::Duration kRetry = absl::Milliseconds(200);
constexpr absl::Duration kComplainEvery = absl::Seconds(5);

// How long a lease of etcd's is relied on, from when it was asked for: less
// than etcd gives, as clocks run at different rates.
absl::Duration LeadershipOf(int64_t ttl_seconds) {
  return absl::Seconds(ttl_seconds) * 0.9;
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
    : options_(std::move(options)), core_(options_.core) {}

std::string ManagerLoop::Key(absl::string_view name) const {
  return absl::StrCat(options_.etcd_prefix, "/", options_.core.cluster_id, "/",
                      name);
}

std::string ManagerLoop::ViewKey() const {
  return Key(absl::StrCat("chains/", options_.core.chain_id, "/view"));
}

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
    EtcdCall call = MakeCall(Kind::kRevokeLease);
    call.lease = std::exchange(give_back_, 0);
    return call;
  }
  if (!leading_) {
    if (leased_) return CampaignCall();
    return MakeCall(lease_ == 0 ? Kind::kGrantLease : Kind::kKeepAlive);
  }
  const absl::Duration whole = LeadershipOf(options_.leader_ttl_seconds);
  if (lease_until_ - now < whole * 2 / 3) return MakeCall(Kind::kKeepAlive);
  TellWhoIsMissing(now);
  const std::optional<View> view = core_.ProposeView(now);
  TellWhoIsSuspect();
  if (!view.has_value()) return std::nullopt;
  return ReplaceCall(*view);
}

EtcdCall ManagerLoop::MakeCall(Kind kind) const {
  EtcdCall call;
  call.kind = kind;
  call.ttl_seconds = options_.leader_ttl_seconds;
  call.lease = lease_;
  return call;
}

EtcdCall ManagerLoop::CampaignCall() const {
  EtcdCall call = MakeCall(Kind::kCampaign);
  call.leader_key = Key("leader");
  call.view_key = ViewKey();
  call.value = options_.name;
  return call;
}

EtcdCall ManagerLoop::ReplaceCall(const View& view) const {
  EtcdCall call = MakeCall(Kind::kReplace);
  call.leader_key = Key("leader");
  call.view_key = ViewKey();
  call.value = ToProto(view).SerializeAsString();
  call.expected_revision = view_revision_;
  call.leader_revision = leader_revision_;
  return call;
}

void ManagerLoop::OnAnswer(const EtcdAnswer& answer, absl::Time now) {
  CHECK(outstanding_.has_value()) << "an answer to no call";
  switch (*std::exchange(outstanding_, std::nullopt)) {
    case Kind::kGrantLease:
      return OnLease(answer, now);
    case Kind::kKeepAlive:
      return OnKept(answer, now);
    case Kind::kRevokeLease:
      VLOG(1) << "lease revoked: " << answer.status;
      wait_ = kRetry;
      return;
    case Kind::kCampaign:
      return OnElection(answer, now);
    case Kind::kReplace:
      return OnStored(answer, now);
  }
}

void ManagerLoop::OnLease(const EtcdAnswer& answer, absl::Time now) {
  if (!answer.status.ok()) {
    Complain(answer.status, now);
    wait_ = kRetry;
    return;
  }
  lease_ = answer.lease;
  leased_ = true;
  // Counted from when it was asked for: etcd counts from when it is asked.
  lease_until_ = sent_ + LeadershipOf(options_.leader_ttl_seconds);
}

void ManagerLoop::OnKept(const EtcdAnswer& answer, absl::Time now) {
  if (answer.status.ok()) {
    lease_until_ = sent_ + LeadershipOf(options_.leader_ttl_seconds);
  } else if (absl::IsNotFound(answer.status)) {
    lease_ = 0;
  }
  if (leading_) return OnKeptAsLeader(answer.status, now);
  leased_ = answer.status.ok();
  if (leased_) return;
  Complain(answer.status, now);
  wait_ = kRetry;
}

void ManagerLoop::OnKeptAsLeader(const absl::Status& kept, absl::Time now) {
  if (kept.ok()) return core_.ExtendLeadership(lease_until_);
  if (absl::IsNotFound(kept)) return StepDown(kept);
  // Leases of nodes go on until ours ends.
  Complain(kept, now);
  wait_ = options_.poll_interval;
  if (now < lease_until_) return;
  StepDown(kept);
  wait_ = kRetry;
}

void ManagerLoop::OnElection(const EtcdAnswer& answer, absl::Time now) {
  leased_ = false;
  if (!answer.status.ok()) {
    // Our key may be there now; it goes with its lease, if we let that go.
    lease_ = 0;
    Complain(answer.status, now);
    wait_ = kRetry;
    return;
  }
  if (!answer.election.won) {
    leader_ = answer.election.leader.value;
    wait_ = kRetry;
    return;
  }
  absl::Status led = StartLeading(answer.election, now);
  if (led.ok()) return;
  // Another manager, of a newer version perhaps, may do better.
  Complain(led, now);
  give_back_ = std::exchange(lease_, 0);
}

absl::Status ManagerLoop::StartLeading(const Etcd::Election& election,
                                       absl::Time now) {
  auto view = Parse(election.view, options_.core);
  if (!view.ok()) return view.status();
  leading_ = true;
  leader_revision_ = election.leader.create_revision;
  view_revision_ = election.view.mod_revision;
  leader_ = options_.name;
  core_.BecomeLeader(*view, now);
  core_.ExtendLeadership(lease_until_);
  LOG(INFO) << options_.name << " is the leader of cluster "
            << options_.core.cluster_id << "; " << view->ToString();
  return absl::OkStatus();
}

void ManagerLoop::OnStored(const EtcdAnswer& answer, absl::Time now) {
  if (absl::IsAborted(answer.status)) return StepDown(answer.status);
  wait_ = options_.poll_interval;
  if (!answer.status.ok()) return Complain(answer.status, now);  // tried again
  auto stored = Parse(answer.stored, options_.core);
  if (!stored.ok()) return StepDown(stored.status());
  view_revision_ = answer.stored.mod_revision;
  core_.OnViewStored(*stored);
  LOG(INFO) << "stored " << stored->ToString();
}

void ManagerLoop::StepDown(const absl::Status& why) {
  LOG(WARNING) << options_.name << " leads no more: " << why.message();
  leading_ = false;
  lease_ = 0;
  leader_.clear();
  core_.LoseLeadership();
}

std::optional<EtcdCall> ManagerLoop::Resign() {
  // First: the moment etcd knows, another manager may lead.
  core_.LoseLeadership();
  leading_ = false;
  if (lease_ == 0) return std::nullopt;
  // So that a standby need not wait for the lease to run out.
  EtcdCall call = MakeCall(Kind::kRevokeLease);
  lease_ = 0;
  return call;
}

void ManagerLoop::TellWhoIsMissing(absl::Time now) {
  std::vector<std::string> missing = core_.WaitingFor(now);
  if (missing == missing_) return;
  missing_ = std::move(missing);
  if (missing_.empty()) return;
  LOG(WARNING) << "the chain of " << core_.view().ToString()
               << " cannot go on with those that are alive: it waits for "
               << absl::StrJoin(missing_, " or ");
}

void ManagerLoop::TellWhoIsSuspect() {
  if (suspect_ == core_.suspicion()) return;
  suspect_ = core_.suspicion();
  if (!suspect_.has_value()) return;
  LOG(WARNING) << suspect_->accuser << " has waited for an answer of "
               << suspect_->suspect << " for "
               << absl::FormatDuration(suspect_->debt)
               << ": the chain goes on without " << suspect_->suspect;
}

void ManagerLoop::Complain(const absl::Status& error, absl::Time now) {
  if (now < next_complaint_) return;
  next_complaint_ = now + kComplainEvery;
  LOG(ERROR) << error.message() << "; trying again";
}

// --- Nodes.

absl::Status ManagerLoop::CheckLeading(absl::Time now) const {
  if (core_.IsLeader(now)) return absl::OkStatus();
  return rpc::NotLeader(leader_ == options_.name ? "" : leader_,
                        options_.core.chain_id);
}

absl::Status ManagerLoop::Register(const RegisterRequest& request,
                                   RegisterResponse* response, absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  const ChainId chain_id = core_.options().chain_id;
  RETURN_IF_ERROR(CheckChain(request.chain_id(), chain_id));
  RETURN_IF_ERROR(core_.Register(request.cluster_id(),
                                 FromProto(request.member()),
                                 FromProto(request.report()), now));
  response->set_lease_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().lease())));
  response->set_chain_id(chain_id);
  response->set_heartbeat_interval_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().heartbeat_interval)));
  *response->mutable_view() = ToProto(core_.view());
  response->set_lease_view_id(core_.view().id);
  return absl::OkStatus();
}

absl::Status ManagerLoop::Heartbeat(const HeartbeatRequest& request,
                                    HeartbeatResponse* response,
                                    absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  const ChainId chain_id = core_.options().chain_id;
  RETURN_IF_ERROR(CheckChain(request.chain_id(), chain_id));
  ManagerCore::Beat beat;
  beat.node_id = request.node_id();
  beat.incarnation = request.incarnation();
  beat.report = FromProto(request.report());
  RETURN_IF_ERROR(core_.Heartbeat(request.cluster_id(), beat, now));
  response->set_lease_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().lease())));
  if (core_.view().id > beat.report.view_id) {
    *response->mutable_view() = ToProto(core_.view());
  }
  response->set_chain_id(chain_id);
  response->set_lease_view_id(core_.view().id);
  response->set_join(core_.ShouldJoin(request.node_id(), now));
  return absl::OkStatus();
}

absl::Status ManagerLoop::Administer(
    absl::FunctionRef<absl::Status(ManagerCore*, absl::Time)> request,
    absl::Time now) {
  RETURN_IF_ERROR(CheckLeading(now));
  return request(&core_, now);
}

}  // namespace kamino::membership
