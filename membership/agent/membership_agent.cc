#include "membership/agent/membership_agent.h"

#include <pthread.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/random/random.h"
#include "glog/logging.h"
#include "rpc/channel.h"
#include "rpc/cluster_calls.h"
#include "rpc/status.h"

namespace kamino::membership {
namespace {

// Minimum interval between two calls, however often RequestView is called.
constexpr absl::Duration kMinSpacing = absl::Milliseconds(5);
constexpr int kTellOneIn = 50;  // unsent heartbeats
constexpr absl::Duration kMaxReconnect = absl::Milliseconds(200);

AgentCore::Options CoreOptions(const AgentOptions& options) {
  AgentCore::Options core;
  core.cluster_id = options.cluster_id;
  core.chain_id = options.chain_id;
  core.managers = options.managers;
  core.takeover_timeout = options.takeover_timeout;
  core.retry = options.retry;
  core.deadline = options.deadline;
  core.medium_time = options.medium_time;
  core.learns_clusters = options.cluster != nullptr;
  absl::BitGen random;
  core.process = absl::Uniform<uint64_t>(absl::IntervalClosed, random, 1,
                                         std::numeric_limits<uint64_t>::max());
  return core;
}

}  // namespace

MembershipAgent::MembershipAgent(AgentOptions options)
    : options_(std::move(options)),
      core_(CoreOptions(options_)),
      // One more than given, for a leader that one of them names.
      connections_([this](const std::string& each) { return ConnectTo(each); },
                   options_.managers.size() + 1) {
  CHECK(options_.clock != nullptr);
}

MembershipAgent::~MembershipAgent() { Stop(); }

absl::Status MembershipAgent::Start(const Member& self,
                                    ViewSourceCallbacks callbacks) {
  CHECK(!thread_.joinable());
  {
    absl::MutexLock lock(&mutex_);
    core_.Begin(self, options_.clock());
  }
  callbacks_ = std::move(callbacks);
  thread_ = std::thread([this] { Run(); });
  peer_lease_thread_ = std::thread([this] { AskForPeerLeases(); });
  return absl::OkStatus();
}

void MembershipAgent::RestBeforeStart(absl::Duration rest) {
  absl::MutexLock lock(&mutex_);
  core_.RestUntil(options_.clock() + rest);
}

void MembershipAgent::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    core_.lease().End();
  }
  if (thread_.joinable()) thread_.join();
  if (peer_lease_thread_.joinable()) peer_lease_thread_.join();
}

bool MembershipAgent::LeaseValid(uint64_t view_id) const {
  absl::MutexLock lock(&mutex_);
  return core_.lease().Valid(view_id, options_.clock());
}

absl::Duration MembershipAgent::LeaseAge() const {
  absl::MutexLock lock(&mutex_);
  return core_.lease().Age(options_.clock());
}

absl::Duration MembershipAgent::FailureTimeout() const {
  absl::MutexLock lock(&mutex_);
  return core_.lease().FailureTimeout();
}

void MembershipAgent::RequestView() {
  absl::MutexLock lock(&mutex_);
  requested_ = true;
}

void MembershipAgent::NoteProgress() {
  absl::MutexLock lock(&mutex_);
  core_.NoteProgress(options_.clock());
}

void MembershipAgent::AskToLeave() {
  absl::MutexLock lock(&mutex_);
  core_.AskToLeave();
  requested_ = true;
}

void MembershipAgent::Surrender() {
  absl::MutexLock lock(&mutex_);
  core_.Surrender();
  requested_ = true;
}

void MembershipAgent::SetReport(const NodeReport& report) {
  absl::MutexLock lock(&mutex_);
  core_.SetReport(report);
}

PeerLeases::Answer MembershipAgent::GrantPeerLease(
    const kamino::internal::v1::VouchRequest& request) {
  absl::MutexLock lock(&mutex_);
  return core_.lease().GrantPeerLease(request, options_.clock());
}

// --- The thread for peer leases.

void MembershipAgent::AskForPeerLeases() {
  pthread_setname_np(pthread_self(), "peer-lease");
  PeerLeaseCalls peer_lease_calls(
      [this](const PeerLeases::Call& call, const PeerLeases::Answer& answer) {
        absl::MutexLock lock(&mutex_);
        core_.lease().OnPeerLease(call, answer);
      },
      options_.credentials);
  for (;;) {
    std::vector<PeerLeases::Call> calls;
    std::vector<std::string> grantors;
    absl::Duration deadline;
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                                  core_.lease().peer_lease_interval())) {
        return;
      }
      calls = core_.lease().NextPeerLeaseCalls(options_.clock());
      grantors = core_.lease().AddressesOfGrantors();
      deadline = core_.lease().peer_lease_deadline();
    }
    peer_lease_calls.KeepConnected(grantors);
    for (PeerLeases::Call& call : calls) {
      peer_lease_calls.Begin(std::move(call), deadline);
    }
  }
}

// --- The thread for the manager.

bool MembershipAgent::Wait(absl::Duration wait) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                          std::min(wait, kMinSpacing));
  mutex_.AwaitWithTimeout(absl::Condition(this, &MembershipAgent::Awake),
                          wait - kMinSpacing);
  requested_ = false;
  return !stopping_;
}

void MembershipAgent::Run() {
  pthread_setname_np(pthread_self(), "membership");
  AgentCore::Effects effects;
  while (effects.refused.ok() && Wait(effects.wait)) {
    AgentCore::Call call;
    {
      absl::MutexLock lock(&mutex_);
      if (core_.Rests(options_.clock())) {
        effects.wait = core_.interval();
        continue;
      }
      if (core_.Hangs(options_.clock())) {
        LOG_EVERY_N(ERROR, kTellOneIn)
            << "this node hangs; it sends no heartbeats until it continues";
        effects = AgentCore::Effects();
        effects.wait = core_.interval();
        continue;
      }
      call = core_.Next(options_.clock());
    }
    const AgentCore::Answer answer = CarryOut(call);
    {
      absl::MutexLock lock(&mutex_);
      effects = core_.OnAnswer(call, answer, options_.clock());
    }
    if (!effects.refused.ok()) continue;
    if (call.registers && answer.status.ok() && options_.takes_lease) {
      effects.refused =
          AwaitTakesLease(absl::Milliseconds(answer.registration.lease_ms()));
      if (absl::IsUnavailable(effects.refused)) return;
      if (!effects.refused.ok()) continue;
    }
    if (call.registers && answer.status.ok() && !registered_) {
      registered_ = true;
      if (options_.on_registered) options_.on_registered(call.manager);
    }
    if (effects.view.has_value()) callbacks_.on_view(*effects.view);
    if (effects.invited.has_value() && callbacks_.on_invited != nullptr) {
      callbacks_.on_invited(*effects.invited);
    }
    if (effects.stop_permission.has_value() &&
        callbacks_.on_stop_permission != nullptr) {
      callbacks_.on_stop_permission(*effects.stop_permission);
    }
  }
  if (!effects.refused.ok()) callbacks_.on_refused(effects.refused);
}

absl::Status MembershipAgent::AwaitTakesLease(absl::Duration lease) {
  absl::Status taken = options_.takes_lease(lease);
  while (absl::IsUnavailable(taken) && Wait(options_.retry)) {
    taken = options_.takes_lease(lease);
  }
  return taken;
}

AgentCore::Answer MembershipAgent::CarryOut(const AgentCore::Call& call) {
  const bool first = call.manager != asked_last_;
  asked_last_ = call.manager;
  if (call.anew) connections_.End(call.manager);
  ManagerConnections::Stub* stub = connections_.To(call.manager);
  grpc::ClientContext context;
  rpc::SetTimeout(call.deadline, &context);
  // gRPC connects only while a call waits, so calls wait. But the first call
  // over a channel fails if its connection does, because another manager may be
  // reachable.
  context.set_wait_for_ready(!first);
  AgentCore::Answer answer;
  const grpc::Status status =
      call.registers
          ? stub->Register(&context, call.registration, &answer.registration)
          : stub->Heartbeat(&context, call.heartbeat, &answer.heartbeat);
  answer.status = rpc::FromGrpc(status);
  answer.cluster_uuid = rpc::ClusterUuidIn(context);
  answer.connected = connections_.connected();
  connections_.NoteEnd(AgentCore::IsAnswer(answer));
  if (rpc::IsOtherCluster(answer.status)) connections_.Renew(call.manager);
  return answer;
}

std::shared_ptr<grpc::Channel> MembershipAgent::ConnectTo(
    const std::string& manager) const {
  rpc::ChannelOptions channel;
  channel.max_reconnect = kMaxReconnect;
  channel.credentials = options_.credentials;
  channel.cluster = options_.cluster;
  channel.server = security::Role::kManager;
  return rpc::MakeChannel(manager, channel);
}

}  // namespace kamino::membership
