#include "client/client.h"

#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "client/begin_call.h"
#include "client/call_errors.h"
#include "client/check.h"
#include "client/error.h"
#include "client/identification.h"
#include "client/runner.h"
#include "client/scan_call.h"
#include "client/session/carriers.h"
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

template <typename Request>
absl::StatusOr<ResponseOf<Request>> Wait(Runner* runner, Request request,
                                         absl::Time deadline) {
  RETURN_IF_ERROR(runner->CheckForks());
  RETURN_IF_ERROR(Check(request));
  if (!runner->EnterBefore(deadline)) return TooManyCalls();
  absl::Notification answered;
  absl::StatusOr<ResponseOf<Request>> result;
  BeginCall<Request>(runner, std::move(request), deadline,
                     [&](absl::StatusOr<ResponseOf<Request>> response) {
                       result = std::move(response);
                       answered.Notify();
                     });
  answered.WaitForNotification();
  return result;
}

}  // namespace

Client::Client(ClientOptions options,
               std::shared_ptr<const rpc::Credentials> credentials)
    : AsyncClient(std::move(options), std::move(credentials)) {}

Client::~Client() { End(); }

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
    client->runner()->timer().After(absl::Milliseconds(50),
                                    [&rested] { rested.Notify(); });
    rested.WaitForNotification();
    status = client->Refresh();
  }
  if (!status.ok()) return status;
  client->runner()->watch().Start();
  return client;
}

// --- Reads.

absl::StatusOr<GetResponse> Client::Get(absl::string_view key, uint64_t offset,
                                        uint64_t length) {
  GetRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_length(length);
  Spread(options().reads, &request);
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<BatchGetResponse> Client::BatchGet(
    const std::vector<std::string>& keys) {
  BatchGetRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  Spread(options().reads, &request);
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<GetOutcomeResponse> Client::GetOutcome(uint64_t client_id,
                                                      uint64_t number,
                                                      uint64_t since,
                                                      bool in_session) {
  GetOutcomeRequest request;
  SetRequestId(Lane{client_id, number, since, in_session},
               request.mutable_request_id());
  return Wait(runner(), std::move(request), Deadline());
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
  RETURN_IF_ERROR(runner()->CheckForks());
  if (!runner()->EnterBefore(Deadline())) return TooManyCalls();
  auto call = std::make_shared<ScanCall>(runner(), request, options().timeout);
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
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<PatchResponse> Client::Patch(absl::string_view key,
                                            uint64_t offset,
                                            absl::string_view data) {
  PatchRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_data(std::string(data));
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<DeleteResponse> Client::Delete(absl::string_view key) {
  DeleteRequest request;
  request.set_key(std::string(key));
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<CommitResponse> Client::Commit(CommitRequest request) {
  return Wait(runner(), std::move(request), Deadline());
}

absl::StatusOr<CallResponse> Client::Call(absl::string_view procedure,
                                          absl::string_view arguments) {
  CallRequest request;
  request.set_procedure(std::string(procedure));
  request.set_arguments(std::string(arguments));
  return Wait(runner(), std::move(request), Deadline());
}

// --- The chain.

kamino::v1::Chain Client::chain() const {
  return runner()->directory().chain();
}

std::shared_ptr<const rpc::ClusterIdentity> Client::cluster() const {
  return runner()->directory().cluster();
}

uint64_t Client::retries() const { return runner()->retries(); }

Client::ReplicaReads Client::replica_reads() const {
  const ReadSpread::Stats stats = runner()->reads().stats();
  return {stats.answered, stats.not_clean, stats.failed};
}

uint64_t Client::session() const { return runner()->lanes().session_id(); }

absl::Status Client::Refresh() {
  RETURN_IF_ERROR(runner()->CheckForks());
  absl::Notification refreshed;
  runner()->finder().Refresh([&refreshed] { refreshed.Notify(); });
  refreshed.WaitForNotification();
  if (!chain().nodes().empty()) return absl::OkStatus();
  return runner()->finder().last_error();
}

absl::StatusOr<kamino::v1::GetNodeStatusResponse> Client::NodeStatus(
    const std::string& address) {
  RETURN_IF_ERROR(runner()->CheckForks());
  grpc::ClientContext context;
  rpc::SetTimeout(kStatusTimeout, &context);
  kamino::v1::GetNodeStatusRequest request;
  request.set_chain_id(runner()->directory().chain_id());
  kamino::v1::GetNodeStatusResponse response;
  RETURN_IF_ERROR(
      rpc::FromGrpc(runner()->directory().At(address)->GetNodeStatus(
          &context, request, &response)));
  return response;
}

}  // namespace kamino::client
