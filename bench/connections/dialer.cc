#include "bench/connections/dialer.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "grpcpp/client_context.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::bench::connections {
namespace {

using client::Connection;
using kamino::v1::SessionHello;
using kamino::v1::SessionService;

// For a connection to be opened, or a request to be answered.
constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr int kMaxAnswerBytes = 6 << 20;  // as the library has it

// Collects the results of many callbacks, one each.
class Gathered {
 public:
  explicit Gathered(size_t count) : results_(count), left_(count) {}

  void Set(size_t i, absl::Status status, ConnectionPtr connection) {
    absl::MutexLock lock(&mutex_);
    results_[i] = {std::move(status), std::move(connection)};
    --left_;
  }

  // False: there are some that did not come in time.
  bool Await(absl::Duration timeout) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(this, &Gathered::All),
                                   timeout);
  }

  // Once all have come.
  std::vector<Dialed> Take() {
    absl::MutexLock lock(&mutex_);
    return std::move(results_);
  }

 private:
  bool All() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return left_ == 0; }

  absl::Mutex mutex_;
  std::vector<Dialed> results_ ABSL_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

Dialer::Dialer(const std::string& carrier, const std::string& address,
               int streams)
    : carrier_(carrier),
      address_(address),
      streams_(static_cast<size_t>(streams)),
      asking_(NewStub()),
      carriers_(carrier, nullptr) {}

absl::StatusOr<std::unique_ptr<Dialer>> Dialer::Make(const std::string& carrier,
                                                     const std::string& address,
                                                     int streams) {
  auto dialer = absl::WrapUnique(new Dialer(carrier, address, streams));
  RETURN_IF_ERROR(
      dialer->AskForCarriers(dialer->asking_.get(), &dialer->node_));
  if (!dialer->carriers_.Ways(dialer->node_, dialer->asking_).empty()) {
    return dialer;
  }
  return absl::UnimplementedError(
      absl::StrCat("nothing leads to ", address, " over ", carrier));
}

std::shared_ptr<Dialer::Stub> Dialer::NewStub() {
  // Channels that are made alike share a connection.
  rpc::ChannelOptions options;
  options.max_answer_bytes = kMaxAnswerBytes + channels_++;
  return SessionService::NewStub(rpc::MakeChannel(address_, options));
}

absl::Status Dialer::AskForCarriers(
    Stub* stub, kamino::v1::GetCarriersResponse* node) const {
  grpc::ClientContext context;
  rpc::SetTimeout(kPatience, &context);
  return rpc::FromGrpc(stub->GetCarriers(&context, {}, node));
}

absl::StatusOr<absl::Duration> Dialer::FirstCall() {
  const absl::Time begin = MonotonicNow();
  const std::shared_ptr<Stub> stub = NewStub();
  kamino::v1::GetCarriersResponse ignored;
  RETURN_IF_ERROR(AskForCarriers(stub.get(), &ignored));
  return MonotonicNow() - begin;
}

client::WireMaker Dialer::NextWay() {
  std::shared_ptr<Stub> stub = asking_;
  if (carrier_ == "grpc") {
    if (dialed_++ % streams_ == 0) stubs_.push_back(NewStub());
    stub = stubs_.back();
  }
  return carriers_.Ways(node_, std::move(stub)).front();
}

std::vector<Dialed> Dialer::Open(std::vector<SessionHello> hellos) {
  auto gathered = std::make_shared<Gathered>(hellos.size());
  std::vector<ConnectionPtr> opening;
  for (size_t i = 0; i < hellos.size(); ++i) {
    hellos[i].set_min_version(session::kVersion);
    hellos[i].set_max_version(session::kVersion);
    opening.push_back(Connection::Open(
        hellos[i], NextWay(), MonotonicNow,
        [gathered, i](const ConnectionPtr& connection, const auto& welcome) {
          gathered->Set(i, welcome.status(), connection);
        }));
  }
  while (!gathered->Await(kPatience)) {
    for (const ConnectionPtr& each : opening) {
      if (each->opening()) each->Close();
    }
  }
  return gathered->Take();
}

std::vector<absl::Status> Dialer::Ask(
    const std::vector<ConnectionPtr>& connections, session::Method method,
    uint64_t number, const google::protobuf::MessageLite& body) {
  auto gathered = std::make_shared<Gathered>(connections.size());
  for (size_t i = 0; i < connections.size(); ++i) {
    const bool sent = connections[i]->Send(
        method, number, kPatience, body, /*traceparent=*/"",
        [gathered, i](const Connection::Answer& answer) {
          gathered->Set(i, answer.status, nullptr);
        });
    if (!sent) {
      gathered->Set(i, absl::UnavailableError("the connection has ended"),
                    nullptr);
    }
  }
  while (!gathered->Await(kPatience)) {
    for (const ConnectionPtr& each : connections) {
      each->EndOverdue(MonotonicNow());
    }
  }
  std::vector<absl::Status> answers;
  for (Dialed& each : gathered->Take()) {
    answers.push_back(std::move(each.status));
  }
  return answers;
}

void Dialer::Close(std::vector<ConnectionPtr>* connections) {
  for (const ConnectionPtr& each : *connections) each->Close();
  for (const ConnectionPtr& each : *connections) each->AwaitEnd();
  connections->clear();
  stubs_.clear();
  dialed_ = 0;
}

}  // namespace kamino::bench::connections
