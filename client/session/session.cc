#include "client/session/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/synchronization/notification.h"
#include "base/clock.h"
#include "proto/session_frame.h"

namespace kamino::client {

using kamino::v1::SessionName;

namespace {

constexpr absl::Duration kCloseTime = absl::Milliseconds(500);

}  // namespace

Session::Session(const SessionOptions& options, LanePool* lanes)
    : options_(options), lanes_(lanes) {
  absl::MutexLock lock(&mutex_);
  Replace();
}

void Session::Replace() {
  name_.set_id(absl::Uniform<uint64_t>(absl::IntervalClosed, random_, 1,
                                       std::numeric_limits<uint64_t>::max()));
  name_.set_epoch(0);
  name_.set_window(options_.window);
  name_.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(options_.lease)));
}

SessionName Session::name() const {
  absl::MutexLock lock(&mutex_);
  return name_;
}

bool Session::Is(uint64_t id) const {
  absl::MutexLock lock(&mutex_);
  return name_.id() == id;
}

bool Session::IsOpen(uint64_t id) const {
  absl::MutexLock lock(&mutex_);
  return name_.id() == id && name_.epoch() != 0;
}

// --- Opening and losing the session.

std::optional<SessionName> Session::BeginAttempt() {
  absl::MutexLock lock(&mutex_);
  if (opening_) return std::nullopt;
  opening_ = name_.epoch() == 0;
  return name_;
}

void Session::EndAttempt(bool opens) {
  absl::MutexLock lock(&mutex_);
  if (opens) opening_ = false;
}

void Session::OnWelcome(const SessionName& welcomed, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (name_.id() != welcomed.id()) return;
  const bool is_new = name_.epoch() == 0;
  name_ = welcomed;
  keep_alive_at_ = now + options_.lease / 4;
  if (is_new) lanes_->OpenSession(welcomed.id(), welcomed.window());
}

SessionName Session::OnHelloFailed(const SessionName& hello) {
  absl::MutexLock lock(&mutex_);
  if (hello.epoch() != 0) return hello;
  if (name_.id() == hello.id() && name_.epoch() == 0) Replace();
  return name_;
}

bool Session::OnExpired(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  if (name_.id() != id) return false;
  lanes_->CloseSession();
  Replace();
  return true;
}

// --- The lease.

bool Session::TakeKeepAlive(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (name_.epoch() == 0 || now < keep_alive_at_) return false;
  keep_alive_at_ = now + options_.lease / 4;
  return true;
}

void Session::KeepAliveSoon(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  keep_alive_at_ = std::min(keep_alive_at_, now + kKeepAliveTimeout);
}

void Session::SendKeepAlive(
    Connection* connection,
    std::function<void(const absl::Status& why, uint64_t id)> failed) {
  const uint64_t id = connection->welcome().session().id();
  const bool sent =
      connection->Send(session::Method::kKeepAlive, 0, kKeepAliveTimeout, "",
                       [failed, id](const Connection::Answer& answer) {
                         if (!answer.status.ok()) failed(answer.status, id);
                       });
  if (!sent) failed(absl::UnavailableError("the connection has ended"), id);
}

void Session::Close(Connection* connection) {
  lanes_->CloseSession();
  if (connection == nullptr) return;
  auto closed = std::make_shared<absl::Notification>();
  if (connection->Send(
          session::Method::kClose, 0, kCloseTime, "",
          [closed](const Connection::Answer&) { closed->Notify(); })) {
    closed->WaitForNotificationWithTimeout(kCloseTime);
  }
}

}  // namespace kamino::client
