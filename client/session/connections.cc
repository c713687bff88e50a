#include "client/session/connections.h"

#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/error.h"

namespace kamino::client {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);

bool IsUnary(const ConnectionsOptions& options) {
  return options.dialer.carrier == "unary";
}

DialerOptions DialerFor(const ConnectionsOptions& options) {
  DialerOptions dialer = options.dialer;
  if (IsUnary(options)) dialer.carrier = "";
  return dialer;
}

bool HasExpired(const absl::Status& status) {
  return ReasonOf(status) == kamino::v1::REASON_SESSION_EXPIRED;
}

}  // namespace

Connections::Connections(ConnectionsOptions options, LanePool* lanes,
                         Timer* timer, Refused refused, Dialer::Head head)
    : unary_(IsUnary(options)),
      lanes_(lanes),
      timer_(timer),
      refused_(std::move(refused)),
      head_(std::move(head)),
      session_(options.session, lanes),
      routes_(options.worth, &session_),
      dialer_(DialerFor(options), &session_, timer, head_) {}

Connections::~Connections() = default;

std::shared_ptr<Connection> Connections::Find(const std::string& address,
                                              bool mutates, ChainId chain_id) {
  if (unary_) return nullptr;
  const RouteTable::Key key{address, mutates};
  std::optional<kamino::v1::SessionName> session;
  {
    absl::MutexLock lock(&mutex_);
    auto connection = routes_.Find(key);
    if (connection != nullptr) return connection;
    routes_.CountCall(key);
    if (stopping_ || !routes_.WantsDial(key, MonotonicNow())) return nullptr;
    if (mutates) {
      session = session_.BeginAttempt();
      if (!session.has_value()) return nullptr;
    }
    routes_.BeginDial(key);
    ++attempts_;
    chain_id_ = chain_id;
  }
  const bool opens_session = mutates && session->epoch() == 0;
  dialer_.Dial(address, std::move(session), chain_id,
               [this, key, opens_session](Dialer::Outcome outcome) {
                 OnDialed(key, opens_session, std::move(outcome));
               });
  return nullptr;
}

std::shared_ptr<Connection> Connections::FindOf(uint64_t id,
                                                const std::string& address,
                                                ChainId chain_id,
                                                bool* expired) {
  {
    absl::MutexLock lock(&mutex_);
    *expired = stopping_ || !session_.IsOpen(id);
    if (*expired) return nullptr;
    routes_.CountSession({address, /*mutates=*/true});
  }
  std::shared_ptr<Connection> found = Find(address, true, chain_id);
  if (found != nullptr && found->welcome().session().id() != id) return nullptr;
  return found;
}

void Connections::Expired(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  if (session_.OnExpired(id)) routes_.RetireForMutations();
}

void Connections::OnDialed(const RouteTable::Key& key, bool opens_session,
                           Dialer::Outcome outcome) {
  const bool opened = outcome.status.ok();
  if (!opened) {
    refused_(key.address, outcome.status);
    if (HasExpired(outcome.status)) Expired(outcome.session_id);
  }
  {
    absl::MutexLock lock(&mutex_);
    session_.EndAttempt(opens_session);
    if (!opened && outcome.connection != nullptr) {
      routes_.Retire(std::move(outcome.connection));
      outcome.connection = nullptr;
    }
    routes_.EndDial(key, std::move(outcome.connection), MonotonicNow());
    if (opened && !stopping_ && !std::exchange(ticking_, true)) {
      timer_->After(kTick, [this] { Tick(); });
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
    open = routes_.All();
    routes_.Sweep();
    keep_alive = session_.TakeKeepAlive(now);
    chain_id = chain_id_;
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
  auto connection = Find(head, /*mutates=*/true, chain_id);
  // A connection that is being opened says hello itself.
  if (connection == nullptr) return session_.KeepAliveSoon(MonotonicNow());
  session_.SendKeepAlive(connection.get(),
                         [this, head](const absl::Status& why, uint64_t id) {
                           refused_(head, why);
                           if (HasExpired(why)) return Expired(id);
                           session_.KeepAliveSoon(MonotonicNow());
                         });
}

void Connections::Stop() {
  const std::string head = head_();
  dialer_.Stop();
  std::shared_ptr<Connection> of_session;
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    of_session = routes_.FindForMutations(head);
  }
  session_.Close(of_session.get());
  timer_->Hurry();
  std::vector<std::shared_ptr<Connection>> open;
  {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Connections::Quiet));
    open = routes_.All();
    routes_.Clear();
  }
  for (const auto& connection : open) {
    connection->Close();
    connection->AwaitEnd();
  }
}

}  // namespace kamino::client
