#include "client/session/dialer.h"

#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "client/error.h"
#include "grpcpp/client_context.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {

using kamino::v1::SessionService;
using kamino::v1::SessionWelcome;

namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kAskTimeout = absl::Seconds(1);
// A node answers a hello that opens a session once the chain has opened it, and
// refuses it after the same ten seconds. A client that gives up earlier slows a
// slow chain down further: its next hello opens another session.
constexpr absl::Duration kOpenTimeout = absl::Seconds(10);
constexpr int kMaxAnswerBytes = 6 << 20;  // a frame, and what gRPC adds

}  // namespace

// Opens one connection, trying one way after the other.
struct Dialer::Attempt {
  std::string address;
  std::optional<kamino::v1::SessionName> session;  // in the next hello
  ChainId chain_id = 0;
  Done done;
  std::shared_ptr<SessionService::Stub> stub;
  std::unique_ptr<grpc::ClientContext> context =
      std::make_unique<grpc::ClientContext>();
  kamino::v1::GetCarriersRequest request;
  kamino::v1::GetCarriersResponse carriers;
  std::vector<WireMaker> ways;
  size_t next_way = 0;
  Outcome outcome;  // complete when End is called
  // End, and each TryWay that runs, is a use. The last one to end calls `done`.
  std::atomic<int> uses{1};
};

Dialer::Dialer(DialerOptions options, Session* session, Timer* timer, Head head)
    : options_(std::move(options)),
      session_(session),
      timer_(timer),
      head_(std::move(head)),
      stubs_([this](const std::string& address) { return ConnectTo(address); },
             timer),
      carriers_(options_.carrier, options_.devices,
                options_.credentials == nullptr
                    ? nullptr
                    : options_.credentials->certificates()) {}

std::shared_ptr<grpc::Channel> Dialer::ConnectTo(
    const std::string& address) const {
  rpc::ChannelOptions channel;
  channel.max_answer_bytes = kMaxAnswerBytes;
  channel.credentials = options_.credentials;
  channel.cluster = options_.cluster;
  return rpc::MakeChannel(address, channel);
}

void Dialer::Dial(const std::string& address,
                  std::optional<kamino::v1::SessionName> session,
                  ChainId chain_id, Done done) {
  auto attempt = std::make_shared<Attempt>();
  attempt->address = address;
  attempt->session = std::move(session);
  attempt->chain_id = chain_id;
  attempt->done = std::move(done);
  attempt->stub = stubs_.At(address);
  attempt->request.set_chain_id(chain_id);
  rpc::SetTimeout(kAskTimeout, attempt->context.get());
  attempt->stub->async()->GetCarriers(
      attempt->context.get(), &attempt->request, &attempt->carriers,
      [this, attempt](const grpc::Status& status) {
        attempt->context.reset();
        if (!status.ok()) return End(attempt, rpc::FromGrpc(status), nullptr);
        attempt->ways = carriers_.Ways(attempt->carriers, attempt->stub);
        TryWay(attempt);
      });
}

void Dialer::TryWay(const std::shared_ptr<Attempt>& attempt) {
  if (attempt->next_way >= attempt->ways.size()) {
    return End(attempt, absl::UnavailableError("no carrier reaches the node"),
               nullptr);
  }
  kamino::v1::SessionHello hello;
  hello.set_min_version(session::kVersion);
  hello.set_max_version(session::kVersion);
  hello.set_chain_id(attempt->chain_id);
  if (options_.cluster != nullptr) {
    hello.set_cluster_uuid(options_.cluster->uuid());
  }
  bool opens_session = false;
  if (attempt->session.has_value()) {
    *hello.mutable_session() = *attempt->session;
    attempt->outcome.session_id = attempt->session->id();
    opens_session = attempt->session->epoch() == 0;
  }
  const WireMaker& way = attempt->ways[attempt->next_way++];
  // The way may end on another thread before Open returns.
  attempt->uses.fetch_add(1);
  const std::weak_ptr<Connection> opening =
      Connection::Open(hello, way, MonotonicNow,
                       [this, attempt](const auto& connection, auto welcome) {
                         OnOpened(attempt, connection, std::move(welcome));
                       });
  if (opens_session) {
    GiveUpAt(MonotonicNow() + kOpenTimeout, attempt->address, opening);
  } else {
    GiveUpAt(MonotonicNow() + kAskTimeout, /*head=*/"", opening);
  }
  Leave(attempt);
}

void Dialer::GiveUpAt(absl::Time deadline, const std::string& head,
                      std::weak_ptr<Connection> opening) {
  timer_->After(kTick, [this, deadline, head, opening] {
    const auto connection = opening.lock();
    if (connection == nullptr || !connection->opening()) return;
    const bool is_head = head.empty() || head_() == head;
    if (stopping() || !is_head || MonotonicNow() >= deadline) {
      return connection->Close();
    }
    GiveUpAt(deadline, head, opening);
  });
}

absl::Status Dialer::CheckCluster(const std::string& address,
                                  const SessionWelcome& welcome) const {
  const std::string& uuid = welcome.cluster_uuid();
  if (options_.cluster == nullptr || options_.cluster->Fits(uuid)) {
    return absl::OkStatus();
  }
  return rpc::OtherCluster(absl::StrCat(
      address, " is of the cluster of ", rpc::ClusterName("", uuid),
      ", not of cluster ", options_.cluster->ToString()));
}

void Dialer::OnOpened(const std::shared_ptr<Attempt>& attempt,
                      const std::shared_ptr<Connection>& connection,
                      absl::StatusOr<SessionWelcome> welcome) {
  const bool welcomed = welcome.ok();
  const absl::Status status =
      welcomed ? CheckCluster(attempt->address, *welcome) : welcome.status();
  if (status.ok()) {
    if (welcome->has_session()) {
      session_->OnWelcome(welcome->session(), MonotonicNow());
    }
    return End(attempt, status, connection);
  }
  if (attempt->session.has_value()) {
    attempt->session = session_->OnHelloFailed(*attempt->session);
  }
  if (welcomed) {
    connection->Close();
    return End(attempt, status, connection);
  }
  // A node's refusal has a reason, and would be the same over any other way.
  if (ReasonOf(status) == kamino::v1::REASON_UNSPECIFIED &&
      attempt->next_way < attempt->ways.size()) {
    return TryWay(attempt);
  }
  End(attempt, status, nullptr);
}

void Dialer::End(const std::shared_ptr<Attempt>& attempt,
                 const absl::Status& status,
                 std::shared_ptr<Connection> connection) {
  if (rpc::IsOtherCluster(status)) stubs_.Renew(attempt->address);
  attempt->outcome.status = status;
  attempt->outcome.connection = std::move(connection);
  Leave(attempt);
}

void Dialer::Leave(const std::shared_ptr<Attempt>& attempt) {
  if (attempt->uses.fetch_sub(1) > 1) return;
  // They hold the channel, and an attempt may end on a gRPC thread.
  attempt->stub.reset();
  attempt->ways.clear();
  attempt->done(std::move(attempt->outcome));
}

void Dialer::Stop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
}

}  // namespace kamino::client
