#include "client/session/connections.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "client/error.h"
#include "grpcpp/client_context.h"
#include "rpc/backoff.h"
#include "rpc/channel.h"
#include "rpc/status.h"

namespace kamino::client {

using kamino::v1::SessionName;
using kamino::v1::SessionService;
using kamino::v1::SessionWelcome;

namespace {

constexpr rpc::Backoff kBackoff = {absl::Milliseconds(10), absl::Seconds(2)};
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kAskTimeout = absl::Seconds(1);
// A node answers a hello that opens a session once the chain has opened it, and
// refuses it after the same ten seconds. A client that gives up earlier slows a
// slow chain down further: its next hello opens another session.
constexpr absl::Duration kOpenTimeout = absl::Seconds(10);
constexpr int kMaxAnswerBytes = 6 << 20;  // a frame, and what gRPC adds
constexpr absl::Duration kCloseTime = absl::Milliseconds(500);

}  // namespace

// Opens one connection, trying one way after the other.
struct Connections::Attempt {
  Key key;
  ChainId chain_id = 0;
  std::shared_ptr<SessionService::Stub> stub;
  std::unique_ptr<grpc::ClientContext> context =
      std::make_unique<grpc::ClientContext>();
  kamino::v1::GetCarriersRequest request;
  kamino::v1::GetCarriersResponse carriers;
  std::vector<WireMaker> ways;
  size_t next_way = 0;
  uint64_t session_id = 0;  // that its hello names
};

Connections::Connections(ConnectionsOptions options, LanePool* lanes,
                         Timer* timer, Refused refused, Head head)
    : options_(std::move(options)),
      lanes_(lanes),
      timer_(timer),
      refused_(std::move(refused)),
      head_(std::move(head)),
      stubs_([this](const std::string& address) { return ConnectTo(address); },
             timer),
      carriers_(options_.carrier == "unary" ? "" : options_.carrier,
                options_.devices,
                options_.credentials == nullptr
                    ? nullptr
                    : options_.credentials->certificates()) {
  absl::MutexLock lock(&mutex_);
  LoseSession();
}

Connections::~Connections() = default;

void Connections::LoseSession() {
  session_.set_id(absl::Uniform<uint64_t>(
      absl::IntervalClosed, random_, 1, std::numeric_limits<uint64_t>::max()));
  session_.set_epoch(0);
  session_.set_window(options_.window);
  session_.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(options_.lease)));
}

std::shared_ptr<Connection> Connections::Find(const std::string& address,
                                              bool mutates, ChainId chain_id) {
  if (options_.carrier == "unary") return nullptr;
  const Key key(address, mutates);
  {
    absl::MutexLock lock(&mutex_);
    Route& route = routes_[key];
    if (route.connection != nullptr) {
      const bool of_another = mutates && !IsOfSession(*route.connection);
      if (!of_another && !route.connection->ended()) return route.connection;
      retired_.push_back(std::move(route.connection));
      route.connection = nullptr;
    }
    ++route.uses;
    if (stopping_ || route.opening || route.uses < options_.worth ||
        MonotonicNow() < route.not_before || (mutates && opening_session_)) {
      return nullptr;
    }
    route.opening = true;
    ++attempts_;
    if (mutates) opening_session_ = session_.epoch() == 0;
    chain_id_ = chain_id;
  }
  Dial(key, chain_id);
  return nullptr;
}

std::shared_ptr<Connection> Connections::FindOf(uint64_t id,
                                                const std::string& address,
                                                ChainId chain_id,
                                                bool* expired) {
  {
    absl::MutexLock lock(&mutex_);
    *expired = stopping_ || session_.id() != id || session_.epoch() == 0;
    if (*expired) return nullptr;
    routes_[{address, true}].uses += options_.worth;
  }
  std::shared_ptr<Connection> found = Find(address, true, chain_id);
  if (found != nullptr && found->welcome().session().id() != id) return nullptr;
  return found;
}

// --- Opening a connection.

std::shared_ptr<grpc::Channel> Connections::ConnectTo(
    const std::string& address) const {
  rpc::ChannelOptions channel;
  channel.max_answer_bytes = kMaxAnswerBytes;
  channel.credentials = options_.credentials;
  channel.cluster = options_.cluster;
  return rpc::MakeChannel(address, channel);
}

void Connections::Dial(const Key& key, ChainId chain_id) {
  auto attempt = std::make_shared<Attempt>();
  attempt->key = key;
  attempt->chain_id = chain_id;
  attempt->stub = stubs_.At(key.first);
  attempt->request.set_chain_id(chain_id);
  rpc::SetTimeout(kAskTimeout, attempt->context.get());
  attempt->stub->async()->GetCarriers(
      attempt->context.get(), &attempt->request, &attempt->carriers,
      [this, attempt](const grpc::Status& status) {
        attempt->context.reset();
        if (!status.ok()) return OnRefused(attempt, rpc::FromGrpc(status));
        attempt->ways = carriers_.Ways(attempt->carriers, attempt->stub);
        TryWay(attempt);
      });
}

void Connections::TryWay(std::shared_ptr<Attempt> attempt) {
  if (attempt->next_way >= attempt->ways.size()) {
    return OnRefused(attempt,
                     absl::UnavailableError("no carrier reaches the node"));
  }
  kamino::v1::SessionHello hello;
  hello.set_min_version(session::kVersion);
  hello.set_max_version(session::kVersion);
  hello.set_chain_id(attempt->chain_id);
  if (options_.cluster != nullptr) {
    hello.set_cluster_uuid(options_.cluster->uuid());
  }
  bool opens_session = false;
  if (attempt->key.second) {
    absl::MutexLock lock(&mutex_);
    *hello.mutable_session() = session_;
    attempt->session_id = session_.id();
    opens_session = session_.epoch() == 0;
  }
  const WireMaker& way = attempt->ways[attempt->next_way++];
  auto opening =
      Connection::Open(hello, way, MonotonicNow,
                       [this, attempt](const auto& connection, auto welcome) {
                         OnOpened(attempt, connection, std::move(welcome));
                       });
  if (opens_session) {
    GiveUpAt(MonotonicNow() + kOpenTimeout, attempt->key.first, opening);
  } else {
    GiveUpAt(MonotonicNow() + kAskTimeout, /*head=*/"", opening);
  }
}

void Connections::GiveUpAt(absl::Time deadline, const std::string& head,
                           std::weak_ptr<Connection> opening) {
  timer_->After(kTick, [this, deadline, head, opening] {
    const auto connection = opening.lock();
    if (connection == nullptr || !connection->opening()) return;
    bool stopping;
    {
      absl::MutexLock lock(&mutex_);
      stopping = stopping_;
    }
    const bool is_head = head.empty() || head_() == head;
    if (stopping || !is_head || MonotonicNow() >= deadline) {
      return connection->Close();
    }
    GiveUpAt(deadline, head, opening);
  });
}

absl::Status Connections::CheckCluster(const std::string& address,
                                       const SessionWelcome& welcome) const {
  const std::string& uuid = welcome.cluster_uuid();
  if (options_.cluster == nullptr || options_.cluster->Fits(uuid)) {
    return absl::OkStatus();
  }
  return rpc::OtherCluster(absl::StrCat(
      address, " is of the cluster of ", rpc::ClusterName("", uuid),
      ", not of cluster ", options_.cluster->ToString()));
}

void Connections::OnOpened(const std::shared_ptr<Attempt>& attempt,
                           const std::shared_ptr<Connection>& connection,
                           absl::StatusOr<SessionWelcome> welcome) {
  if (welcome.ok()) {
    absl::Status ours = CheckCluster(attempt->key.first, *welcome);
    if (!ours.ok()) {
      connection->Close();
      absl::MutexLock lock(&mutex_);
      retired_.push_back(connection);
      welcome = std::move(ours);
    }
  }
  if (welcome.ok()) {
    if (welcome->has_session()) OnSession(welcome->session());
    return Done(attempt, connection);
  }
  ForgetHello(*attempt);
  // A node's refusal has a reason, and would be the same over any other way.
  if (ReasonOf(welcome.status()) == kamino::v1::REASON_UNSPECIFIED &&
      attempt->next_way < attempt->ways.size()) {
    return TryWay(attempt);
  }
  OnRefused(attempt, welcome.status());
}

void Connections::ForgetHello(const Attempt& attempt) {
  absl::MutexLock lock(&mutex_);
  const bool was_to_open = attempt.key.second && session_.epoch() == 0 &&
                           session_.id() == attempt.session_id;
  if (was_to_open) LoseSession();
}

void Connections::OnSession(const SessionName& session) {
  {
    absl::MutexLock lock(&mutex_);
    if (session_.id() != session.id()) return;
    const bool is_new = session_.epoch() == 0;
    session_ = session;
    keep_alive_at_ = MonotonicNow() + options_.lease / 4;
    if (is_new) lanes_->OpenSession(session.id(), session.window());
  }
}

void Connections::OnRefused(const std::shared_ptr<Attempt>& attempt,
                            const absl::Status& why) {
  refused_(attempt->key.first, why);
  if (rpc::IsOtherCluster(why)) stubs_.Renew(attempt->key.first);
  if (ReasonOf(why) == kamino::v1::REASON_SESSION_EXPIRED) {
    Expired(attempt->session_id);
  }
  Done(attempt, nullptr);
}

void Connections::Expired(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  if (session_.id() != id) return;
  lanes_->CloseSession();
  LoseSession();
  // Requests that are outstanding on its connection are still answered.
  for (auto& [key, route] : routes_) {
    if (key.second && route.connection != nullptr) {
      retired_.push_back(std::move(route.connection));
      route.connection = nullptr;
    }
  }
}

void Connections::Done(const std::shared_ptr<Attempt>& attempt,
                       std::shared_ptr<Connection> connection) {
  const bool opened = connection != nullptr;
  // They hold the channel, and an attempt may end on a gRPC thread.
  attempt->stub.reset();
  attempt->ways.clear();
  {
    absl::MutexLock lock(&mutex_);
    if (attempt->key.second) opening_session_ = false;
    if (opened && attempt->key.second && !IsOfSession(*connection)) {
      retired_.push_back(std::move(connection));  // it has expired meanwhile
    }
    Route& route = routes_[attempt->key];
    route.opening = false;
    route.failures = opened ? 0 : route.failures + 1;
    route.not_before =
        MonotonicNow() +
        kBackoff.After(route.failures, absl::Uniform<double>(random_, 0, 1));
    if (opened) {
      route.not_before = absl::InfinitePast();
      route.connection = std::move(connection);
      if (!std::exchange(ticking_, !stopping_) && !stopping_) {
        timer_->After(kTick, [this] { Tick(); });
      }
    }
  }
  // Mutations of the session may wait for it.
  if (opened) timer_->Hurry();
  absl::MutexLock lock(&mutex_);
  --attempts_;
}

// --- Background work.

void Connections::Tick() {
  std::vector<std::shared_ptr<Connection>> open;
  bool keep_alive = false;
  ChainId chain_id = 0;
  const absl::Time now = MonotonicNow();
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [key, route] : routes_) {
      if (route.connection != nullptr) open.push_back(route.connection);
    }
    for (const auto& connection : retired_) open.push_back(connection);
    for (auto it = retired_.begin(); it != retired_.end();) {
      if ((*it)->idle()) (*it)->Close();
      it = (*it)->over() ? retired_.erase(it) : it + 1;
    }
    if (session_.epoch() != 0 && now >= keep_alive_at_) {
      keep_alive_at_ = now + options_.lease / 4;
      keep_alive = true;
      chain_id = chain_id_;
    }
  }
  for (const auto& connection : open) connection->EndOverdue(now);
  lanes_->Tick(now);
  if (keep_alive) KeepAlive(chain_id);
  absl::MutexLock lock(&mutex_);
  if (stopping_) {
    ticking_ = false;
  } else {
    timer_->After(kTick, [this] { Tick(); });
  }
}

void Connections::KeepAlive(ChainId chain_id) {
  const std::string head = head_();
  if (head.empty()) return;
  const auto soon = [this] {
    absl::MutexLock lock(&mutex_);
    keep_alive_at_ = std::min(keep_alive_at_, MonotonicNow() + kAskTimeout);
  };
  auto connection = Find(head, /*mutates=*/true, chain_id);
  // A connection that is being opened says hello itself.
  if (connection == nullptr) return soon();
  connection->Send(
      session::Method::kKeepAlive, 0, kAskTimeout, "",
      [this, soon, head, id = connection->welcome().session().id()](
          const Connection::Answer& answer) {
        if (answer.status.ok()) return;
        refused_(head, answer.status);
        if (ReasonOf(answer.status) == kamino::v1::REASON_SESSION_EXPIRED) {
          return Expired(id);
        }
        soon();
      });
}

void Connections::Stop() {
  const std::string head = head_();
  std::shared_ptr<Connection> of_session;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    lanes_->CloseSession();
    for (const auto& [key, route] : routes_) {
      if (key.second && route.connection != nullptr &&
          !route.connection->ended()) {
        of_session = route.connection;
        if (key.first == head) break;
      }
    }
  }
  if (of_session != nullptr) {
    auto closed = std::make_shared<absl::Notification>();
    if (of_session->Send(
            session::Method::kClose, 0, kCloseTime, "",
            [closed](const Connection::Answer&) { closed->Notify(); })) {
      closed->WaitForNotificationWithTimeout(kCloseTime);
    }
  }
  timer_->Hurry();
  std::vector<std::shared_ptr<Connection>> open;
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Connections::Quiet));
    open.swap(retired_);
    for (auto& [key, route] : routes_) {
      if (route.connection != nullptr) open.push_back(route.connection);
    }
    routes_.clear();
  }
  for (const auto& connection : open) {
    connection->Close();
    connection->AwaitEnd();
  }
}

}  // namespace kamino::client
