#include "replica/link/dialer.h"

#include <algorithm>

namespace kamino::replica {
namespace {

// The first attempts to reach a neighbour, before they are reconnect_delay
// apart; each waits twice as long as the one before.
constexpr int kFailuresToSlow = 4;

}  // namespace

void Dialer::Aim(const membership::Member& member, absl::Time at) {
  state_ = State::kWaiting;
  member_ = member;
  due_ = at;
}

void Dialer::Hasten(absl::Time now) {
  if (state_ == State::kWaiting) due_ = std::min(due_, now);
}

void Dialer::Delay(absl::Time until) {
  if (state_ == State::kWaiting) due_ = std::max(due_, until);
}

void Dialer::Adopt(LinkId link) {
  if (!Has(link)) outbox_->Close(link_);
  link_ = link;
  state_ = State::kEstablished;
  late_hellos_ = 0;
}

bool Dialer::OnOpened(LinkId link, absl::Time now) {
  if (!Has(link)) return false;
  if (state_ == State::kConnecting) {
    state_ = State::kGreeting;
    due_ = now + HelloTimeout();
  }
  return true;
}

absl::Duration Dialer::HelloTimeout() const {
  const absl::Duration longest =
      std::max(options_.hello_timeout, options_.connect_timeout);
  absl::Duration timeout = options_.hello_timeout;
  for (int i = 0; i < late_hellos_ && timeout < longest; ++i) timeout *= 2;
  return std::min(timeout, longest);
}

void Dialer::Establish() {
  if (link_ == kNoLink) return;
  state_ = State::kEstablished;
  late_hellos_ = 0;
}

bool Dialer::OnClosed(LinkId link, absl::Time now) {
  if (!Has(link)) return false;
  Wait(now);
  return true;
}

void Dialer::OnTick(absl::Time now) {
  if (now >= due_ &&
      (state_ == State::kConnecting || state_ == State::kGreeting)) {
    if (state_ == State::kGreeting) ++late_hellos_;
    Retry(now);
  }
  if (state_ != State::kWaiting || now < due_) return;
  link_ = outbox_->Open(member_, purpose_);
  state_ = State::kConnecting;
  due_ = now + options_.connect_timeout;
}

void Dialer::Retry(absl::Time now) {
  if (link_ == kNoLink) return;
  outbox_->Close(link_);
  Wait(now);
}

void Dialer::Wait(absl::Time now) {
  failures_ = state_ == State::kEstablished
                  ? 1
                  : std::min(failures_ + 1, kFailuresToSlow);
  state_ = State::kWaiting;
  link_ = kNoLink;
  due_ = now;
  if (purpose_ == kamino::internal::v1::LINK_PURPOSE_TRANSFER) {
    // A tail that refuses this node now will refuse it for a while.
    due_ += 10 * options_.reconnect_delay;
  } else {
    due_ += options_.reconnect_delay / (1 << (kFailuresToSlow - failures_));
  }
}

void Dialer::Leave() {
  outbox_->Close(link_);
  state_ = State::kIdle;
  link_ = kNoLink;
  failures_ = 0;
  late_hellos_ = 0;
  due_ = absl::InfiniteFuture();
}

}  // namespace kamino::replica
