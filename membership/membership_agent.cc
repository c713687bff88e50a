#include "membership/membership_agent.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "membership/records.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::HeartbeatRequest;
using kamino::internal::v1::HeartbeatResponse;
using kamino::internal::v1::MembershipService;
using kamino::internal::v1::NotLeaderDetail;
using kamino::internal::v1::RegisterRequest;
using kamino::internal::v1::RegisterResponse;
using kamino::internal::v1::ViewRecord;

constexpr absl::Duration kComplainEvery = absl::Seconds(5);
constexpr size_t kMaxAddressBytes = 256;
// However often a newer view is asked for.
constexpr absl::Duration kMinSpacing = absl::Milliseconds(5);
constexpr int kReconnectMs = 50;
constexpr int kConnectTimeoutMs = 1000;

// gRPC makes connections only while a call waits, so the calls do.
void Prepare(absl::Duration deadline, grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(deadline));
  context->set_wait_for_ready(true);
}

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

absl::optional<NotLeaderDetail> DetailOf(const std::string& details) {
  google::rpc::Status status;
  NotLeaderDetail detail;
  if (!status.ParseFromString(details) || status.details_size() == 0 ||
      !status.details(0).UnpackTo(&detail)) {
    return absl::nullopt;
  }
  return detail;
}

}  // namespace

MembershipAgent::MembershipAgent(AgentOptions options)
    : options_(std::move(options)), managers_(options_.managers) {
  CHECK(!managers_.empty());
  CHECK(options_.clock != nullptr);
}

MembershipAgent::~MembershipAgent() { Stop(); }

absl::Status MembershipAgent::Start(const Member& self,
                                    ViewSourceCallbacks callbacks) {
  CHECK(!thread_.joinable());
  self_ = self;
  callbacks_ = std::move(callbacks);
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void MembershipAgent::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    lease_until_ = absl::InfinitePast();
  }
  if (thread_.joinable()) thread_.join();
}

bool MembershipAgent::LeaseValid(uint64_t view_id) const {
  absl::MutexLock lock(&mutex_);
  return view_id >= lease_view_id_ && options_.clock() < lease_until_;
}

void MembershipAgent::RequestView() {
  absl::MutexLock lock(&mutex_);
  requested_ = true;
}

void MembershipAgent::SetCurrentView(uint64_t view_id) {
  absl::MutexLock lock(&mutex_);
  current_view_ = std::max(current_view_, view_id);
}

// --- The thread.

void MembershipAgent::Run() {
  absl::Duration wait = absl::ZeroDuration();
  while (!refused_) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                              std::min(wait, kMinSpacing));
      mutex_.AwaitWithTimeout(absl::Condition(this, &MembershipAgent::Awake),
                              wait - kMinSpacing);
      if (stopping_) return;
      requested_ = false;
    }
    wait = registered_ ? Heartbeat() : Register();
  }
}

MembershipAgent::Stub* MembershipAgent::Current() {
  const std::string& address = managers_[current_];
  if (stub_ == nullptr || connected_to_ != address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 4 * kReconnectMs);
    stub_ = MembershipService::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments));
    connected_to_ = address;
  }
  return stub_.get();
}

absl::Duration MembershipAgent::Register() {
  RegisterRequest request;
  RegisterResponse response;
  request.set_cluster_id(options_.cluster_id);
  *request.mutable_node() = ToProto(self_);
  grpc::ClientContext context;
  Prepare(options_.deadline, &context);
  const absl::Time sent = options_.clock();
  const grpc::Status answer = Current()->Register(&context, request, &response);
  if (answer.ok()) {
    registered_ = true;
    interval_ = absl::Milliseconds(
        std::max<uint32_t>(response.heartbeat_interval_ms(), 1));
    TakeView(response.view());
    TakeLease(sent, response.lease_ms(), response.lease_view_id());
    return interval_;
  }
  const absl::Status status = ToStatus(answer);
  const bool not_leader = DetailOf(answer.error_details()).has_value();
  const absl::Status refusal = Refusal(status, not_leader);
  if (!refusal.ok()) {
    refused_ = true;
    callbacks_.on_refused(refusal);
    return absl::ZeroDuration();
  }
  OnFailure(status, answer.error_details());
  return options_.retry;
}

absl::Status MembershipAgent::Refusal(const absl::Status& status,
                                      bool not_leader) {
  if (absl::IsAlreadyExists(status)) {
    // A process that has just died still counts as alive for a moment.
    if (takeover_until_ == absl::InfiniteFuture()) {
      takeover_until_ = options_.clock() + options_.takeover_timeout;
    }
    if (options_.clock() < takeover_until_) return absl::OkStatus();
    return status;
  }
  takeover_until_ = absl::InfiniteFuture();
  if (not_leader) return absl::OkStatus();
  switch (status.code()) {
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kUnimplemented:
      return status;
    default:
      return absl::OkStatus();
  }
}

absl::Duration MembershipAgent::Heartbeat() {
  HeartbeatRequest request;
  HeartbeatResponse response;
  request.set_cluster_id(options_.cluster_id);
  request.set_node_id(self_.node_id);
  request.set_incarnation(self_.incarnation);
  {
    absl::MutexLock lock(&mutex_);
    request.set_view_id(current_view_);
  }
  grpc::ClientContext context;
  Prepare(options_.deadline, &context);
  const absl::Time sent = options_.clock();
  const grpc::Status answer =
      Current()->Heartbeat(&context, request, &response);
  if (answer.ok()) {
    if (response.has_view()) TakeView(response.view());
    TakeLease(sent, response.lease_ms(), response.lease_view_id());
    return interval_;
  }
  if (answer.error_code() == grpc::StatusCode::NOT_FOUND) {
    LOG(WARNING) << "the manager at " << managers_[current_]
                 << " does not know this node any more; registering again";
    registered_ = false;
    return absl::ZeroDuration();
  }
  OnFailure(ToStatus(answer), answer.error_details());
  return options_.retry;
}

void MembershipAgent::OnFailure(const absl::Status& status,
                                const std::string& details) {
  const absl::Time now = options_.clock();
  if (now >= next_complaint_) {
    next_complaint_ = now + kComplainEvery;
    LOG(WARNING) << "manager at " << managers_[current_] << ": "
                 << status.message() << "; trying again";
  }
  const auto detail = DetailOf(details);
  if (detail.has_value() && Follow(detail->leader_address())) return;
  current_ = (current_ + 1) % managers_.size();
}

bool MembershipAgent::Follow(const std::string& leader) {
  if (leader.empty() || leader.size() > kMaxAddressBytes ||
      leader == managers_[current_]) {
    return false;
  }
  auto found = std::find(managers_.begin(), managers_.end(), leader);
  if (found == managers_.end()) {
    // One place for whoever was not given; a later one takes it over.
    managers_.resize(options_.managers.size());
    managers_.push_back(leader);
    found = std::prev(managers_.end());
  }
  current_ = static_cast<size_t>(found - managers_.begin());
  return true;
}

void MembershipAgent::TakeLease(absl::Time sent, uint32_t lease_ms,
                                uint64_t lease_view_id) {
  absl::MutexLock lock(&mutex_);
  if (stopping_) return;
  lease_until_ = std::max(lease_until_, sent + absl::Milliseconds(lease_ms));
  lease_view_id_ = std::max(lease_view_id_, lease_view_id);
}

void MembershipAgent::TakeView(const ViewRecord& record) {
  if (record.view_id() <= last_view_) return;
  last_view_ = record.view_id();
  callbacks_.on_view(FromProto(record));
}

}  // namespace kamino::membership
