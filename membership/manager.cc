#include "membership/manager.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "membership/records.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::GetMembershipRequest;
using kamino::internal::v1::GetMembershipResponse;
using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::ViewRecord;

constexpr absl::Duration kRetry = absl::Milliseconds(200);
constexpr absl::Duration kComplainEvery = absl::Seconds(5);

// How long a lease of etcd's is relied on, from when it was asked for: less
// than etcd gives, as clocks run at different rates.
absl::Duration LeadershipOf(int64_t ttl_seconds) {
  return absl::Seconds(ttl_seconds) * 0.9;
}

absl::StatusOr<View> Parse(const Etcd::Value& value,
                           const std::string& cluster_id) {
  if (value.mod_revision == 0) return View();
  ViewRecord record;
  if (!record.ParseFromString(value.value) || record.view_id() == 0 ||
      record.nodes().empty() || record.cluster_id() != cluster_id) {
    return absl::DataLossError(absl::StrCat(
        "the view stored at etcd is not one of cluster ", cluster_id));
  }
  return FromProto(record);
}

}  // namespace

Manager::Manager(Options options, std::unique_ptr<Etcd> etcd,
                 std::function<absl::Time()> clock)
    : options_(std::move(options)),
      clock_(std::move(clock)),
      core_(options_.core),
      etcd_(std::move(etcd)),
      thread_([this] { Run(); }) {}

Manager::~Manager() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::string Manager::Key(const char* name) const {
  return absl::StrCat(options_.etcd_prefix, "/", options_.core.cluster_id, "/",
                      name);
}

// --- The election.

void Manager::Run() {
  absl::Duration wait = absl::ZeroDuration();
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait);
      if (stopping_) break;
    }
    wait = leading_ ? Lead() : Campaign();
  }
  Resign();
}

absl::Status Manager::TakeLease() {
  const absl::Time sent = clock_();
  auto lease = etcd_->GrantLease(options_.leader_ttl_seconds);
  if (!lease.ok()) return lease.status();
  lease_ = *lease;
  lease_until_ = sent + LeadershipOf(options_.leader_ttl_seconds);
  return absl::OkStatus();
}

absl::Status Manager::RenewLease() {
  // Counted from here: etcd counts from when it gets the request.
  const absl::Time sent = clock_();
  absl::Status kept = etcd_->KeepAlive(lease_);
  if (kept.ok()) {
    lease_until_ = sent + LeadershipOf(options_.leader_ttl_seconds);
  } else if (absl::IsNotFound(kept)) {
    lease_ = 0;
  }
  return kept;
}

absl::Duration Manager::Campaign() {
  absl::Status leased = lease_ == 0 ? TakeLease() : RenewLease();
  if (!leased.ok()) {
    Complain(leased);
    return kRetry;
  }
  auto election =
      etcd_->Campaign(Key("leader"), options_.name, lease_, Key("view"));
  if (!election.ok()) {
    // Our key may be there now; it goes with its lease, if we let that go.
    lease_ = 0;
    Complain(election.status());
    return kRetry;
  }
  if (election->won) {
    absl::Status led = StartLeading(*election);
    if (led.ok()) return absl::ZeroDuration();
    // Another manager, of a newer version perhaps, may do better.
    Complain(led);
    Resign();
    return kRetry;
  }
  absl::MutexLock lock(&mutex_);
  leader_ = election->leader.value;
  return kRetry;
}

absl::Status Manager::StartLeading(const Etcd::Election& election) {
  auto view = Parse(election.view, options_.core.cluster_id);
  if (!view.ok()) return view.status();
  leading_ = true;
  leader_revision_ = election.leader.create_revision;
  view_revision_ = election.view.mod_revision;
  absl::MutexLock lock(&mutex_);
  leader_ = options_.name;
  core_.BecomeLeader(*view, clock_());
  core_.ExtendLeadership(lease_until_);
  LOG(INFO) << options_.name << " is the leader of cluster "
            << options_.core.cluster_id << "; " << view->ToString();
  return absl::OkStatus();
}

absl::Duration Manager::Lead() {
  const absl::Duration whole = LeadershipOf(options_.leader_ttl_seconds);
  if (lease_until_ - clock_() < whole * 2 / 3) {
    absl::Status kept = RenewLease();
    if (kept.ok()) {
      absl::MutexLock lock(&mutex_);
      core_.ExtendLeadership(lease_until_);
    } else if (absl::IsNotFound(kept)) {
      StepDown(kept);
      return absl::ZeroDuration();
    } else {
      // Leases of nodes go on until ours ends.
      Complain(kept);
      if (clock_() < lease_until_) return options_.poll_interval;
      StepDown(kept);
      return kRetry;
    }
  }
  absl::optional<View> view;
  {
    absl::MutexLock lock(&mutex_);
    view = core_.ProposeView(clock_());
  }
  if (view.has_value()) WriteView(*view);
  return options_.poll_interval;
}

void Manager::WriteView(const View& view) {
  auto stored = etcd_->Replace(Key("view"), ToProto(view).SerializeAsString(),
                               view_revision_, Key("leader"), leader_revision_);
  if (absl::IsAborted(stored.status())) return StepDown(stored.status());
  if (!stored.ok()) return Complain(stored.status());  // tried again
  auto stored_view = Parse(*stored, options_.core.cluster_id);
  if (!stored_view.ok()) return StepDown(stored_view.status());
  view_revision_ = stored->mod_revision;
  absl::MutexLock lock(&mutex_);
  core_.OnViewStored(*stored_view);
  LOG(INFO) << "stored " << stored_view->ToString();
}

void Manager::StepDown(const absl::Status& why) {
  LOG(WARNING) << options_.name << " leads no more: " << why.message();
  leading_ = false;
  lease_ = 0;
  absl::MutexLock lock(&mutex_);
  leader_.clear();
  core_.LoseLeadership();
}

void Manager::Resign() {
  {
    // First: the moment etcd knows, another manager may lead.
    absl::MutexLock lock(&mutex_);
    core_.LoseLeadership();
  }
  leading_ = false;
  if (lease_ == 0) return;
  // So that a standby need not wait for the lease to run out.
  absl::Status revoked = etcd_->RevokeLease(lease_);
  VLOG(1) << "lease revoked: " << revoked;
  lease_ = 0;
}

void Manager::Complain(const absl::Status& error) {
  const absl::Time now = clock_();
  if (now < next_complaint_) return;
  next_complaint_ = now + kComplainEvery;
  LOG(ERROR) << error.message() << "; trying again";
}

// --- Nodes.

bool Manager::CheckLeading(absl::Time now,
                           absl::optional<std::string>* leader) const {
  if (core_.IsLeader(now)) return true;
  *leader = leader_ == options_.name ? "" : leader_;
  return false;
}

namespace {

absl::Status NotLeader() {
  return absl::FailedPreconditionError("this manager is not the leader");
}

}  // namespace

absl::Status Manager::Register(const RegisterRequest& request,
                               RegisterResponse* response,
                               absl::optional<std::string>* leader) {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_();
  if (!CheckLeading(now, leader)) return NotLeader();
  absl::Status taken =
      core_.Register(request.cluster_id(), FromProto(request.node()), now);
  if (!taken.ok()) return taken;
  response->set_lease_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().lease())));
  response->set_heartbeat_interval_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().heartbeat_interval)));
  *response->mutable_view() = ToProto(core_.view());
  response->set_lease_view_id(core_.view().id);
  return absl::OkStatus();
}

absl::Status Manager::Heartbeat(const HeartbeatRequest& request,
                                HeartbeatResponse* response,
                                absl::optional<std::string>* leader) {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_();
  if (!CheckLeading(now, leader)) return NotLeader();
  absl::Status known =
      core_.Heartbeat(request.cluster_id(), request.node_id(),
                      request.incarnation(), request.view_id(), now);
  if (!known.ok()) return known;
  response->set_lease_ms(static_cast<uint32_t>(
      absl::ToInt64Milliseconds(core_.options().lease())));
  if (core_.view().id > request.view_id()) {
    *response->mutable_view() = ToProto(core_.view());
  }
  response->set_lease_view_id(core_.view().id);
  return absl::OkStatus();
}

absl::Status Manager::Describe(const GetMembershipRequest& request,
                               GetMembershipResponse* response,
                               absl::optional<std::string>* leader) {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = clock_();
  if (!CheckLeading(now, leader)) return NotLeader();
  if (request.cluster_id() != options_.core.cluster_id) {
    return absl::NotFoundError(absl::StrCat("this is the manager of cluster ",
                                            options_.core.cluster_id));
  }
  response->set_leader(options_.name);
  *response->mutable_view() = ToProto(core_.view());
  for (const ManagerCore::Known& known : core_.nodes(now)) {
    auto* status = response->add_members();
    *status->mutable_node() = ToProto(known.member);
    status->set_alive(known.alive);
    status->set_view_id(known.view_id);
    status->set_last_heartbeat_age_ms(
        static_cast<uint64_t>(absl::ToInt64Milliseconds(known.silent)));
  }
  return absl::OkStatus();
}

}  // namespace kamino::membership
