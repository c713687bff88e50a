#include "client/client.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "client/call.h"
#include "client/check.h"
#include "client/error.h"
#include "client/identification.h"
#include "client/method.h"
#include "client/runner.h"
#include "client/scan_call.h"
#include "client/session/carriers.h"
#include "client/start_scope.h"
#include "client/transaction.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {
namespace {

using kamino::v1::BatchGetRequest;
using kamino::v1::BatchGetResponse;
using kamino::v1::CallRequest;
using kamino::v1::CallResponse;
using kamino::v1::CommitRequest;
using kamino::v1::CommitResponse;
using kamino::v1::DeleteRequest;
using kamino::v1::DeleteResponse;
using kamino::v1::GetOutcomeRequest;
using kamino::v1::GetOutcomeResponse;
using kamino::v1::GetRequest;
using kamino::v1::GetResponse;
using kamino::v1::PatchRequest;
using kamino::v1::PatchResponse;
using kamino::v1::PutRequest;
using kamino::v1::PutResponse;

constexpr absl::Duration kStatusTimeout = absl::Seconds(1);

absl::Status TooMany() {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   kamino::v1::REASON_OVERLOADED,
                   "this client has max_outstanding calls under way");
}

// Requests that any replica may answer set the field themselves.
template <typename Request>
bool IsForAnyReplica(const Request& request) {
  if constexpr (requires { request.any_replica(); }) {
    return request.any_replica();
  }
  return false;
}

// As the client's options say.
template <typename Request>
void Spread(const ClientOptions& options, Request* request) {
  if constexpr (requires { request->any_replica(); }) {
    if (options.reads == Reads::kAnyReplica) request->set_any_replica(true);
  }
}

// The call has entered the runner.
template <typename Request>
void Begin(Runner* runner, Request request, absl::Time deadline,
           Callback<ResponseOf<Request>> done) {
  const StartScope scope;
  if constexpr (Method<Request>::kMutation) {
    std::make_shared<Mutation<Request>>(runner, std::move(request), deadline,
                                        std::move(done))
        ->Start();
  } else {
    const Target target =
        IsForAnyReplica(request) ? Target::kAnyReplica : Target::kTail;
    std::make_shared<client::Call<Request>>(runner, target, std::move(request),
                                            deadline, std::move(done))
        ->Start();
  }
}

template <typename Request>
void BeginAsync(Runner* runner, Request request, absl::Time deadline,
                Callback<ResponseOf<Request>> done) {
  absl::Status ok = runner->CheckForks();
  if (ok.ok()) ok = Check(request);
  if (!ok.ok()) return done(ok);
  if (!runner->TryEnter()) return done(TooMany());
  Begin(runner, std::move(request), deadline, std::move(done));
}

template <typename Request>
absl::StatusOr<ResponseOf<Request>> Wait(Runner* runner, Request request,
                                         absl::Time deadline) {
  RETURN_IF_ERROR(runner->CheckForks());
  RETURN_IF_ERROR(Check(request));
  if (!runner->EnterBefore(deadline)) return TooMany();
  absl::Notification answered;
  absl::StatusOr<ResponseOf<Request>> result;
  Begin<Request>(runner, std::move(request), deadline,
                 [&](absl::StatusOr<ResponseOf<Request>> response) {
                   result = std::move(response);
                   answered.Notify();
                 });
  answered.WaitForNotification();
  return result;
}

// Pulls parts until `visit` returns false.
void PullParts(const std::shared_ptr<ScanCall>& call,
               std::function<bool(const kamino::v1::ScanResponse&)> visit,
               std::function<void(const absl::Status&)> done) {
  call->Next([call, visit = std::move(visit),
              done = std::move(done)](const absl::StatusOr<bool>& more) {
    if (!more.ok()) return done(more.status());
    if (!*more) return done(absl::OkStatus());
    if (visit(call->part())) return PullParts(call, visit, done);
    call->Stop();
    done(absl::OkStatus());
  });
}

constexpr int kMaxWindow = 1024;

ConnectionsOptions ConnectionsFor(
    const ClientOptions& options,
    std::shared_ptr<const rpc::Credentials> credentials) {
  ConnectionsOptions connections;
  connections.dialer.carrier = options.carrier;
  connections.dialer.devices = options.rdma_devices;
  connections.dialer.credentials = std::move(credentials);
  connections.session.window =
      static_cast<uint32_t>(std::min(options.max_outstanding, kMaxWindow));
  connections.session.lease = options.session_lease;
  return connections;
}

}  // namespace

Client::Client(ClientOptions options,
               std::shared_ptr<const rpc::Credentials> credentials)
    : options_(std::move(options)),
      runner_(absl::make_unique<Runner>(
          options_.seeds, options_.chain_id, options_.max_outstanding,
          ConnectionsFor(options_, std::move(credentials)))) {}

Client::~Client() {
  // In a forked child the client's threads and session belong to the parent.
  const bool ends = runner_->CheckForks().ok() && runner_->Stop();
  if (!ends) (void)runner_.release();
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(ClientOptions options) {
  if (options.seeds.empty()) {
    return absl::InvalidArgumentError("no seeds: name a node, host:port");
  }
  if (options.max_outstanding < 1 || options.timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "max_outstanding and timeout must be over 0");
  }
  if (options.carrier != "unary") {
    RETURN_IF_ERROR(Carriers::Check(options.carrier));
  }
  if (options.session_lease < absl::Seconds(1) ||
      options.session_lease > absl::Hours(1)) {
    return absl::InvalidArgumentError(
        "session_lease must be from a second to an hour");
  }
  ASSIGN_OR_RETURN(auto credentials,
                   Identify(options.tls, options.insecure, options.seeds));
  auto client =
      absl::WrapUnique(new Client(std::move(options), std::move(credentials)));
  const absl::Time deadline = client->Deadline();
  absl::Status status = client->Refresh();
  // A retry changes neither a seed that is not a node nor its chain.
  while (!status.ok() && !absl::IsInvalidArgument(status) &&
         ReasonOf(status) != kamino::v1::REASON_UNKNOWN_CHAIN &&
         MonotonicNow() < deadline) {
    absl::Notification rested;
    client->runner_->timer().After(absl::Milliseconds(50),
                                   [&rested] { rested.Notify(); });
    rested.WaitForNotification();
    status = client->Refresh();
  }
  if (!status.ok()) return status;
  client->runner_->watch().Start();
  return client;
}

absl::Time Client::Deadline() const {
  return MonotonicNow() + options_.timeout;
}

// --- Reads.

absl::StatusOr<GetResponse> Client::Get(absl::string_view key, uint64_t offset,
                                        uint64_t length) {
  GetRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_length(length);
  Spread(options_, &request);
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<BatchGetResponse> Client::BatchGet(
    const std::vector<std::string>& keys) {
  BatchGetRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  Spread(options_, &request);
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<GetOutcomeResponse> Client::GetOutcome(uint64_t client_id,
                                                      uint64_t number,
                                                      uint64_t since,
                                                      bool in_session) {
  GetOutcomeRequest request;
  SetRequestId(Lane{client_id, number, since, in_session},
               request.mutable_request_id());
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::Status Client::Scan(
    const kamino::v1::ScanRequest& request,
    absl::FunctionRef<bool(const kamino::v1::ReadResult&,
                           const kamino::v1::ResponseHeader&)>
        visit) {
  return ScanParts(request, [visit](const kamino::v1::ScanResponse& part) {
    for (const auto& object : part.results()) {
      if (!visit(object, part.header())) return false;
    }
    return true;
  });
}

// `visit` runs on the caller's thread, so that it may block.
absl::Status Client::ScanParts(
    const kamino::v1::ScanRequest& request,
    absl::FunctionRef<bool(const kamino::v1::ScanResponse&)> visit) {
  RETURN_IF_ERROR(runner_->CheckForks());
  if (!runner_->EnterBefore(Deadline())) return TooMany();
  auto call =
      std::make_shared<ScanCall>(runner_.get(), request, options_.timeout);
  for (;;) {
    absl::Notification answered;
    absl::StatusOr<bool> more;
    call->Next([&](absl::StatusOr<bool> answer) {
      more = std::move(answer);
      answered.Notify();
    });
    answered.WaitForNotification();
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
    if (!visit(call->part())) break;
  }
  call->Stop();
  return absl::OkStatus();
}

// --- Mutations.

absl::StatusOr<PutResponse> Client::Put(absl::string_view key,
                                        absl::string_view value) {
  PutRequest request;
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<PatchResponse> Client::Patch(absl::string_view key,
                                            uint64_t offset,
                                            absl::string_view data) {
  PatchRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_data(std::string(data));
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<DeleteResponse> Client::Delete(absl::string_view key) {
  DeleteRequest request;
  request.set_key(std::string(key));
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<CommitResponse> Client::Commit(CommitRequest request) {
  return Wait(runner_.get(), std::move(request), Deadline());
}

absl::StatusOr<CallResponse> Client::Call(absl::string_view procedure,
                                          absl::string_view arguments) {
  CallRequest request;
  request.set_procedure(std::string(procedure));
  request.set_arguments(std::string(arguments));
  return Wait(runner_.get(), std::move(request), Deadline());
}

// --- Without waiting.

#define KAMINO_CLIENT_ASYNC(Name)                             \
  void Client::Name##Async(Name##Request request,             \
                           Callback<Name##Response> done) {   \
    Spread(options_, &request);                               \
    BeginAsync(runner_.get(), std::move(request), Deadline(), \
               std::move(done));                              \
  }

KAMINO_CLIENT_ASYNC(Get)
KAMINO_CLIENT_ASYNC(BatchGet)
KAMINO_CLIENT_ASYNC(GetOutcome)
KAMINO_CLIENT_ASYNC(Put)
KAMINO_CLIENT_ASYNC(Patch)
KAMINO_CLIENT_ASYNC(Delete)
KAMINO_CLIENT_ASYNC(Commit)
KAMINO_CLIENT_ASYNC(Call)

#undef KAMINO_CLIENT_ASYNC

void Client::ScanAsync(
    kamino::v1::ScanRequest request,
    std::function<bool(const kamino::v1::ScanResponse&)> visit,
    std::function<void(const absl::Status&)> done) {
  if (absl::Status ok = runner_->CheckForks(); !ok.ok()) return done(ok);
  if (!runner_->TryEnter()) return done(TooMany());
  const StartScope scope;
  PullParts(std::make_shared<ScanCall>(runner_.get(), std::move(request),
                                       options_.timeout),
            std::move(visit), std::move(done));
}

// --- The chain.

kamino::v1::Chain Client::chain() const { return runner_->directory().chain(); }

std::shared_ptr<const rpc::ClusterIdentity> Client::cluster() const {
  return runner_->directory().cluster();
}

uint64_t Client::retries() const { return runner_->retries(); }

Client::ReplicaReads Client::replica_reads() const {
  const ReadSpread::Stats stats = runner_->reads().stats();
  return {stats.answered, stats.not_clean, stats.failed};
}

uint64_t Client::session() const { return runner_->lanes().session_id(); }

absl::Status Client::Refresh() {
  RETURN_IF_ERROR(runner_->CheckForks());
  absl::Notification refreshed;
  runner_->finder().Refresh([&refreshed] { refreshed.Notify(); });
  refreshed.WaitForNotification();
  if (!chain().nodes().empty()) return absl::OkStatus();
  return runner_->finder().last_error();
}

absl::StatusOr<kamino::v1::GetNodeStatusResponse> Client::NodeStatus(
    const std::string& address) {
  RETURN_IF_ERROR(runner_->CheckForks());
  grpc::ClientContext context;
  rpc::SetTimeout(kStatusTimeout, &context);
  kamino::v1::GetNodeStatusRequest request;
  request.set_chain_id(runner_->directory().chain_id());
  kamino::v1::GetNodeStatusResponse response;
  RETURN_IF_ERROR(rpc::FromGrpc(runner_->directory().At(address)->GetNodeStatus(
      &context, request, &response)));
  return response;
}

}  // namespace kamino::client
