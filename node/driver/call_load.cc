#include "node/driver/call_load.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replica/errors.h"

namespace kamino::node {

using replica::MakeError;

absl::Status CallLoad::Enter(int64_t bytes) {
  const int64_t waiting = ++waiting_;
  const int64_t waiting_bytes = waiting_bytes_ += bytes;
  if (waiting <= options_.max_waiting &&
      waiting_bytes <= options_.max_waiting_bytes) {
    return absl::OkStatus();
  }
  Leave(bytes);
  ++shed_;
  return MakeError(
      kamino::v1::REASON_OVERLOADED,
      absl::StrCat("this node is overloaded: ", waiting - 1,
                   " reads wait for it, with requests of ",
                   waiting_bytes - bytes, " bytes (at most ",
                   options_.max_waiting, " and ", options_.max_waiting_bytes,
                   "); try again later"));
}

void CallLoad::Leave(int64_t bytes) {
  --waiting_;
  waiting_bytes_ -= bytes;
}

absl::Status CallLoad::Begin(absl::string_view peer, bool cancelled,
                             absl::Time deadline, absl::Time now) {
  if (cancelled || now >= deadline) {
    ++given_up_;
    if (cancelled) {
      return absl::CancelledError("the client gave the read up");
    }
    return absl::DeadlineExceededError("the read waited too long");
  }
  return CheckRoomForAnswer(peer);
}

absl::Status CallLoad::CheckRoomForAnswer(absl::string_view peer) {
  absl::ReleasableMutexLock lock(&mutex_);
  const int64_t unsent = unsent_bytes_;
  const auto found = unsent_of_.find(peer);
  const int64_t of_peer = found == unsent_of_.end() ? 0 : found->second;
  lock.Release();
  const bool full = unsent >= options_.max_unsent_bytes;
  if (!full && of_peer < options_.max_unsent_bytes_of_one) {
    return absl::OkStatus();
  }
  ++shed_;
  if (full) {
    return MakeError(
        kamino::v1::REASON_OVERLOADED,
        absl::StrCat("this node is overloaded: answers of ", unsent,
                     " bytes have not left it yet (at most ",
                     options_.max_unsent_bytes, "); try again later"));
  }
  return MakeError(
      kamino::v1::REASON_OVERLOADED,
      absl::StrCat("this connection has not taken answers of ", of_peer,
                   " bytes yet (at most ", options_.max_unsent_bytes_of_one,
                   "); take them, then try again"));
}

uint64_t CallLoad::AddAnswer(absl::string_view peer, int64_t bytes,
                             absl::Time now, absl::AnyInvocable<void()> end) {
  absl::MutexLock lock(&mutex_);
  const uint64_t number = next_answer_++;
  unsent_[number] = {std::string(peer), bytes, now, std::move(end)};
  unsent_bytes_ += bytes;
  unsent_of_[peer] += bytes;
  return number;
}

void CallLoad::RemoveAnswer(uint64_t answer) {
  Answer removed;  // its `end` is destroyed without the lock
  absl::MutexLock lock(&mutex_);
  const auto found = unsent_.find(answer);
  if (found == unsent_.end()) return;
  removed = std::move(found->second);
  unsent_.erase(found);
  unsent_bytes_ -= removed.bytes;
  const auto of_peer = unsent_of_.find(removed.peer);
  if (of_peer == unsent_of_.end()) return;  // the remaining ones are empty
  of_peer->second -= removed.bytes;
  if (of_peer->second == 0) unsent_of_.erase(of_peer);
}

void CallLoad::EndOverdue(absl::Time now) {
  std::vector<absl::AnyInvocable<void()>> ends;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [number, answer] : unsent_) {
      if (now - answer.since < options_.max_unsent_time) break;
      if (answer.end == nullptr) continue;
      ends.push_back(std::exchange(answer.end, nullptr));
    }
  }
  ended_ += ends.size();
  for (auto& end : ends) end();
}

CallLoadStats CallLoad::stats() const {
  CallLoadStats stats;
  stats.waiting = waiting_;
  {
    absl::MutexLock lock(&mutex_);
    stats.unsent_bytes = unsent_bytes_;
  }
  stats.shed = shed_;
  stats.given_up = given_up_;
  stats.ended = ended_;
  return stats;
}

}  // namespace kamino::node
