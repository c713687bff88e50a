#include "client/async_client.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/memory/memory.h"
#include "base/clock.h"
#include "client/begin_call.h"
#include "client/call_errors.h"
#include "client/check.h"
#include "client/runner.h"
#include "client/scan_call.h"
#include "client/session/connections.h"
#include "client/start_scope.h"
#include "rpc/credentials.h"

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

template <typename Request>
void BeginAsync(Runner* runner, Request request, absl::Time deadline,
                Callback<ResponseOf<Request>> done) {
  absl::Status ok = runner->CheckForks();
  if (ok.ok()) ok = Check(request);
  if (!ok.ok()) return done(ok);
  if (!runner->TryEnter()) return done(TooManyCalls());
  BeginCall(runner, std::move(request), deadline, std::move(done));
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

AsyncClient::AsyncClient(ClientOptions options,
                         std::shared_ptr<const rpc::Credentials> credentials)
    : options_(std::move(options)),
      runner_(absl::make_unique<Runner>(
          options_.seeds, options_.chain_id, options_.max_outstanding,
          ConnectionsFor(options_, std::move(credentials)))) {}

AsyncClient::~AsyncClient() { End(); }

void AsyncClient::End() {
  if (runner_ == nullptr) return;
  // In a forked child the client's threads and session belong to the parent.
  const bool ends = runner_->CheckForks().ok() && runner_->Stop();
  if (!ends) (void)runner_.release();
  runner_.reset();
}

absl::Time AsyncClient::Deadline() const {
  return MonotonicNow() + options_.timeout;
}

#define KAMINO_CLIENT_ASYNC(Name)                                \
  void AsyncClient::Name##Async(Name##Request request,           \
                                Callback<Name##Response> done) { \
    Spread(options_.reads, &request);                            \
    BeginAsync(runner_.get(), std::move(request), Deadline(),    \
               std::move(done));                                 \
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

void AsyncClient::ScanAsync(
    kamino::v1::ScanRequest request,
    std::function<bool(const kamino::v1::ScanResponse&)> visit,
    std::function<void(const absl::Status&)> done) {
  if (absl::Status ok = runner_->CheckForks(); !ok.ok()) return done(ok);
  if (!runner_->TryEnter()) return done(TooManyCalls());
  const StartScope scope;
  PullParts(std::make_shared<ScanCall>(runner_.get(), std::move(request),
                                       options_.timeout),
            std::move(visit), std::move(done));
}

}  // namespace kamino::client
