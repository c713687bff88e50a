#include "membership/membership_agent.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "glog/logging.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::MembershipService;
using kamino::internal::v1::NotLeaderDetail;

// However often a newer view is asked for.
constexpr absl::Duration kMinSpacing = absl::Milliseconds(5);
constexpr int kReconnectMs = 50;
constexpr int kConnectTimeoutMs = 1000;

// gRPC makes connections only while a call waits, so the calls do. But the
// first one over a channel fails when its connection does: there may be another
// manager to ask.
void Prepare(absl::Duration deadline, bool first,
             grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(deadline));
  context->set_wait_for_ready(!first);
}

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

std::optional<std::string> LeaderIn(const std::string& details) {
  google::rpc::Status status;
  NotLeaderDetail detail;
  if (!status.ParseFromString(details) || status.details_size() == 0 ||
      !status.details(0).UnpackTo(&detail)) {
    return std::nullopt;
  }
  return detail.leader_address();
}

AgentCore::Options CoreOptions(const AgentOptions& options) {
  AgentCore::Options core;
  core.cluster_id = options.cluster_id;
  core.managers = options.managers;
  core.takeover_timeout = options.takeover_timeout;
  core.retry = options.retry;
  return core;
}

}  // namespace

MembershipAgent::MembershipAgent(AgentOptions options)
    : options_(std::move(options)), core_(CoreOptions(options_)) {
  CHECK(options_.clock != nullptr);
}

MembershipAgent::~MembershipAgent() { Stop(); }

absl::Status MembershipAgent::Start(const Member& self,
                                    ViewSourceCallbacks callbacks) {
  CHECK(!thread_.joinable());
  {
    absl::MutexLock lock(&mutex_);
    core_.SetSelf(self);
  }
  callbacks_ = std::move(callbacks);
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void MembershipAgent::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    core_.EndLease();
  }
  if (thread_.joinable()) thread_.join();
}

bool MembershipAgent::LeaseValid(uint64_t view_id) const {
  absl::MutexLock lock(&mutex_);
  return core_.LeaseValid(view_id, options_.clock());
}

void MembershipAgent::RequestView() {
  absl::MutexLock lock(&mutex_);
  requested_ = true;
}

void MembershipAgent::SetReport(const NodeReport& report) {
  absl::MutexLock lock(&mutex_);
  core_.SetReport(report);
}

// --- The thread.

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
  AgentCore::Effects effects;
  while (effects.refused.ok() && Wait(effects.wait)) {
    AgentCore::Call call;
    {
      absl::MutexLock lock(&mutex_);
      call = core_.Next(options_.clock());
    }
    const AgentCore::Answer answer = CarryOut(call);
    {
      absl::MutexLock lock(&mutex_);
      effects = core_.OnAnswer(call, answer, options_.clock());
    }
    if (effects.view.has_value()) callbacks_.on_view(*effects.view);
    if (effects.invited.has_value() && callbacks_.on_invited != nullptr) {
      callbacks_.on_invited(*effects.invited);
    }
  }
  if (!effects.refused.ok()) callbacks_.on_refused(effects.refused);
}

AgentCore::Answer MembershipAgent::CarryOut(const AgentCore::Call& call) {
  const bool first = call.manager != connected_to_;
  Stub* stub = StubFor(call.manager);
  grpc::ClientContext context;
  Prepare(options_.deadline, first, &context);
  AgentCore::Answer answer;
  const grpc::Status status =
      call.registers
          ? stub->Register(&context, call.registration, &answer.registration)
          : stub->Heartbeat(&context, call.heartbeat, &answer.heartbeat);
  answer.status = ToStatus(status);
  answer.leader = LeaderIn(status.error_details());
  return answer;
}

MembershipAgent::Stub* MembershipAgent::StubFor(const std::string& manager) {
  if (stub_ == nullptr || connected_to_ != manager) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 4 * kReconnectMs);
    stub_ = MembershipService::NewStub(grpc::CreateCustomChannel(
        manager, grpc::InsecureChannelCredentials(), arguments));
    connected_to_ = manager;
  }
  return stub_.get();
}

}  // namespace kamino::membership
