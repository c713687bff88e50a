#include "client/client.h"

#include <chrono>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/call.h"
#include "client/error.h"
#include "client/runner.h"
#include "client/transaction.h"

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

constexpr absl::Duration kStatusDeadline = absl::Seconds(1);

absl::Status TooMany() {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   kamino::v1::REASON_OVERLOADED,
                   "this client has max_outstanding calls under way");
}

// What call.h needs to know of a method of the service.
#define KAMINO_CLIENT_ATTEMPT(Method)                                       \
  [](Directory::Stub* stub, grpc::ClientContext* context,                   \
     const Method##Request* request, Method##Response* response,            \
     std::function<void(grpc::Status)> answered) {                          \
    stub->async()->Method(context, request, response, std::move(answered)); \
  }

template <typename Request, typename Response, typename Attempt>
void StartRead(Runner* runner, Attempt attempt, Request request,
               absl::Time deadline, Callback<Response> done) {
  std::make_shared<client::Call<Request, Response>>(runner, Target::kTail,
                                                    attempt, std::move(request),
                                                    deadline, std::move(done))
      ->Start();
}

template <typename Request, typename Response, typename Attempt>
void StartMutation(Runner* runner, Attempt attempt, Request request,
                   absl::Time deadline, Callback<Response> done) {
  std::make_shared<Mutation<Request, Response>>(
      runner, attempt, std::move(request), deadline, std::move(done))
      ->Start();
}

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      runner_(absl::make_unique<Runner>(options_.seeds,
                                        options_.max_outstanding)) {}

Client::~Client() = default;

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(ClientOptions options) {
  if (options.seeds.empty()) {
    return absl::InvalidArgumentError("no seeds: name a node, host:port");
  }
  auto client = absl::WrapUnique(new Client(std::move(options)));
  const absl::Time deadline = client->Deadline();
  absl::Status status = client->Refresh();
  while (!status.ok() && absl::Now() < deadline) {
    absl::Notification rested;
    client->runner_->timer().After(absl::Milliseconds(50),
                                   [&rested] { rested.Notify(); });
    rested.WaitForNotification();
    status = client->Refresh();
  }
  if (!status.ok()) return status;
  return client;
}

absl::Time Client::Deadline() const { return absl::Now() + options_.timeout; }

template <typename Response, typename Start>
absl::StatusOr<Response> Client::Wait(Start start) {
  absl::Notification answered;
  absl::StatusOr<Response> result;
  runner_->Enter();
  start([&](absl::StatusOr<Response> response) {
    result = std::move(response);
    answered.Notify();
  });
  answered.WaitForNotification();
  return result;
}

// --- Reads.

absl::StatusOr<GetResponse> Client::Get(absl::string_view key, uint64_t offset,
                                        uint64_t length) {
  GetRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_length(length);
  return Wait<GetResponse>([&](Callback<GetResponse> done) {
    StartRead(runner_.get(), KAMINO_CLIENT_ATTEMPT(Get), std::move(request),
              Deadline(), std::move(done));
  });
}

absl::StatusOr<BatchGetResponse> Client::BatchGet(
    const std::vector<std::string>& keys) {
  BatchGetRequest request;
  for (const std::string& key : keys) request.add_keys(key);
  return Wait<BatchGetResponse>([&](Callback<BatchGetResponse> done) {
    StartRead(runner_.get(), KAMINO_CLIENT_ATTEMPT(BatchGet),
              std::move(request), Deadline(), std::move(done));
  });
}

absl::StatusOr<GetOutcomeResponse> Client::GetOutcome(uint64_t client_id,
                                                      uint64_t number) {
  GetOutcomeRequest request;
  SetRequestId(Lane{client_id, number}, request.mutable_request_id());
  return Wait<GetOutcomeResponse>([&](Callback<GetOutcomeResponse> done) {
    StartRead(runner_.get(), KAMINO_CLIENT_ATTEMPT(GetOutcome),
              std::move(request), Deadline(), std::move(done));
  });
}

absl::Status Client::Scan(
    const kamino::v1::ScanRequest& request,
    absl::FunctionRef<bool(const kamino::v1::ReadResult&,
                           const kamino::v1::ResponseHeader&)>
        visit) {
  const absl::Time deadline = Deadline();
  kamino::v1::ScanRequest rest = request;
  absl::Status last = absl::UnavailableError("no chain is known");
  for (int attempt = 1; absl::Now() < deadline; ++attempt) {
    const auto stub = runner_->directory().Find(Target::kTail);
    if (stub != nullptr) {
      grpc::ClientContext context;
      context.set_deadline(absl::ToChronoTime(deadline));
      auto stream = stub->Scan(&context, rest);
      kamino::v1::ScanResponse part;
      bool stopped = false;
      while (!stopped && stream->Read(&part)) {
        for (const auto& object : part.results()) {
          stopped = !visit(object, part.header());
          if (stopped) break;
          // The least key behind this one.
          rest.set_start_key(object.key() + std::string(1, '\0'));
          if (rest.limit() == 0) continue;
          if (rest.limit() == 1) {
            stopped = true;
            break;
          }
          rest.set_limit(rest.limit() - 1);
        }
      }
      if (stopped) context.TryCancel();
      const absl::Status status = FromGrpc(stream->Finish());
      if (stopped || status.ok()) return absl::OkStatus();
      runner_->directory().Learn(DetailOf(status).chain());
      last = status;
    }
    const Decision decision = DecideAfter(last, attempt, runner_->Random());
    if (!decision.retry) return last;
    if (decision.refresh) Refresh().IgnoreError();
    absl::Notification rested;
    runner_->timer().After(decision.delay, [&rested] { rested.Notify(); });
    rested.WaitForNotification();
  }
  return absl::DeadlineExceededError(
      absl::StrCat("no answer in time (last error: ", last.message(), ")"));
}

// --- Mutations.

absl::StatusOr<PutResponse> Client::Put(absl::string_view key,
                                        absl::string_view value) {
  PutRequest request;
  request.set_key(std::string(key));
  request.set_value(std::string(value));
  return Wait<PutResponse>([&](Callback<PutResponse> done) {
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Put), std::move(request),
                  Deadline(), std::move(done));
  });
}

absl::StatusOr<PatchResponse> Client::Patch(absl::string_view key,
                                            uint64_t offset,
                                            absl::string_view data) {
  PatchRequest request;
  request.set_key(std::string(key));
  request.set_offset(offset);
  request.set_data(std::string(data));
  return Wait<PatchResponse>([&](Callback<PatchResponse> done) {
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Patch),
                  std::move(request), Deadline(), std::move(done));
  });
}

absl::StatusOr<DeleteResponse> Client::Delete(absl::string_view key) {
  DeleteRequest request;
  request.set_key(std::string(key));
  return Wait<DeleteResponse>([&](Callback<DeleteResponse> done) {
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Delete),
                  std::move(request), Deadline(), std::move(done));
  });
}

absl::StatusOr<CommitResponse> Client::Commit(CommitRequest request) {
  return Wait<CommitResponse>([&](Callback<CommitResponse> done) {
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Commit),
                  std::move(request), Deadline(), std::move(done));
  });
}

absl::StatusOr<CallResponse> Client::Call(absl::string_view procedure,
                                          absl::string_view arguments) {
  CallRequest request;
  request.set_procedure(std::string(procedure));
  request.set_arguments(std::string(arguments));
  return Wait<CallResponse>([&](Callback<CallResponse> done) {
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Call),
                  std::move(request), Deadline(), std::move(done));
  });
}

// --- Without waiting.

void Client::GetAsync(GetRequest request, Callback<GetResponse> done) {
  if (!runner_->TryEnter()) return done(TooMany());
  StartRead(runner_.get(), KAMINO_CLIENT_ATTEMPT(Get), std::move(request),
            Deadline(), std::move(done));
}

#define KAMINO_CLIENT_MUTATION_ASYNC(Method)                        \
  void Client::Method##Async(Method##Request request,               \
                             Callback<Method##Response> done) {     \
    if (!runner_->TryEnter()) return done(TooMany());               \
    StartMutation(runner_.get(), KAMINO_CLIENT_ATTEMPT(Method),     \
                  std::move(request), Deadline(), std::move(done)); \
  }

KAMINO_CLIENT_MUTATION_ASYNC(Put)
KAMINO_CLIENT_MUTATION_ASYNC(Patch)
KAMINO_CLIENT_MUTATION_ASYNC(Delete)
KAMINO_CLIENT_MUTATION_ASYNC(Commit)
KAMINO_CLIENT_MUTATION_ASYNC(Call)

#undef KAMINO_CLIENT_MUTATION_ASYNC
#undef KAMINO_CLIENT_ATTEMPT

// --- The chain.

kamino::v1::Chain Client::chain() const { return runner_->directory().chain(); }

absl::Status Client::Refresh() {
  absl::Notification refreshed;
  runner_->directory().Refresh([&refreshed] { refreshed.Notify(); });
  refreshed.WaitForNotification();
  if (!chain().nodes().empty()) return absl::OkStatus();
  return runner_->directory().last_error();
}

absl::StatusOr<kamino::v1::GetNodeStatusResponse> Client::NodeStatus(
    const std::string& address) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoMilliseconds(kStatusDeadline));
  kamino::v1::GetNodeStatusRequest request;
  kamino::v1::GetNodeStatusResponse response;
  const absl::Status status =
      FromGrpc(runner_->directory().At(address)->GetNodeStatus(
          &context, request, &response));
  if (!status.ok()) return status;
  return response;
}

}  // namespace kamino::client
