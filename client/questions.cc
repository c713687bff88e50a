#include "client/questions.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

// The more specific of two errors of a round: first that another cluster uses
// an address, then all but that an address is not a node's. The later of two
// equal ones.
absl::Status Worse(const absl::Status& before, const absl::Status& now) {
  const auto weight = [](const absl::Status& error) {
    if (error.ok()) return 0;
    if (rpc::IsOtherCluster(error)) return 3;
    return absl::IsInvalidArgument(error) ? 1 : 2;
  };
  return weight(now) < weight(before) ? before : now;
}

}  // namespace

std::vector<std::string> Questions::Choose(
    const std::vector<std::string>& addresses) {
  const absl::Time now = options_.clock();
  // Addresses come and go with nodes.
  for (auto it = places_.begin(); it != places_.end();) {
    const bool over = !it->second.in_flight && now >= it->second.not_before;
    it = over ? places_.erase(it) : std::next(it);
  }
  std::vector<std::string> chosen;
  for (const std::string& address : addresses) {
    const auto [place, may_be_asked] = places_.try_emplace(address);
    if (!may_be_asked) continue;
    place->second.in_flight = true;
    place->second.asked = now;
    chosen.push_back(address);
  }
  in_flight_ += static_cast<int>(chosen.size());
  busy_ += static_cast<int>(chosen.size());
  return chosen;
}

void Questions::Begin(const std::vector<std::string>& addresses, Until until,
                      std::function<void()> done) {
  std::vector<std::string> chosen;
  std::shared_ptr<Round> round;
  {
    absl::MutexLock lock(&mutex_);
    if (round_ != nullptr) {
      round_->waiters.push_back(std::move(done));
      return;
    }
    chosen = Choose(addresses);
    if (in_flight_ > 0) {
      round = round_ = std::make_shared<Round>();
      round->until = until;
      round->waiters.push_back(std::move(done));
    }
  }
  if (round == nullptr) return done();
  if (options_.after != nullptr) {
    const absl::Duration patience =
        until == Until::kAll ? options_.patience / 2 : options_.patience;
    options_.after(patience, [this, round] { OnPatienceOver(round); });
  }
  Send(chosen);
}

bool Questions::AskBeside(const std::string& address) {
  std::vector<std::string> chosen;
  {
    absl::MutexLock lock(&mutex_);
    chosen = Choose({address});
  }
  Send(chosen);
  return !chosen.empty();
}

void Questions::Send(const std::vector<std::string>& chosen) {
  for (const std::string& address : chosen) {
    options_.ask(address, [this, address](const absl::Status& status) {
      OnEnded(address, status);
    });
  }
}

void Questions::OnEnded(const std::string& address,
                        const absl::Status& status) {
  Waiters waiters;
  {
    absl::MutexLock lock(&mutex_);
    Place& place = places_[address];
    const absl::Time now = options_.clock();
    const absl::Duration took = now - place.asked;
    place.in_flight = false;
    place.not_before = took <= kQuick ? now : now + std::min(took, kMaxPause);
    --in_flight_;
    if (round_ != nullptr) {
      if (status.ok()) {
        round_->answered = true;
      } else {
        round_->error = Worse(round_->error, status);
      }
      if (in_flight_ == 0 || (status.ok() && round_->until == Until::kFirst)) {
        waiters = EndRound(round_->answered ? absl::OkStatus() : round_->error);
      }
    }
  }
  for (const auto& waiter : waiters) waiter();
  absl::MutexLock lock(&mutex_);
  --busy_;
}

void Questions::OnPatienceOver(const std::shared_ptr<Round>& round) {
  Waiters waiters;
  {
    absl::MutexLock lock(&mutex_);
    if (round_ != round) return;
    absl::Status error = round->answered ? absl::OkStatus() : round->error;
    // That one address is not a node's says nothing about the others.
    if (!round->answered && (error.ok() || absl::IsInvalidArgument(error))) {
      const auto silent =
          std::find_if(places_.begin(), places_.end(),
                       [](const auto& each) { return each.second.in_flight; });
      error = absl::DeadlineExceededError(absl::StrCat(
          silent->first, " has not answered yet; asked ",
          absl::FormatDuration(absl::Trunc(
              options_.clock() - silent->second.asked, absl::Milliseconds(1))),
          " ago (if this continues: the process hangs, another program has "
          "the address, or its host is not reached)"));
    }
    waiters = EndRound(error);
    ++busy_;
  }
  for (const auto& waiter : waiters) waiter();
  absl::MutexLock lock(&mutex_);
  --busy_;
}

Questions::Waiters Questions::EndRound(const absl::Status& status) {
  if (!status.ok()) last_error_ = status;
  Waiters waiters = std::move(round_->waiters);
  round_ = nullptr;
  return waiters;
}

absl::Status Questions::last_error() const {
  absl::MutexLock lock(&mutex_);
  return last_error_;
}

bool Questions::AwaitEnd(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(this, &Questions::Idle),
                                 patience);
}

}  // namespace kamino::client
