#include "node/driver/call_load.h"

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

absl::Status CallLoad::Begin(bool cancelled, absl::Time deadline,
                             absl::Time now) {
  if (cancelled || now >= deadline) {
    ++given_up_;
    if (cancelled) {
      return absl::CancelledError("the client gave the read up");
    }
    return absl::DeadlineExceededError("the read waited too long");
  }
  return CheckRoomForAnswer();
}

absl::Status CallLoad::CheckRoomForAnswer() {
  const int64_t unsent = unsent_bytes_;
  if (unsent < options_.max_unsent_bytes) return absl::OkStatus();
  ++shed_;
  return MakeError(
      kamino::v1::REASON_OVERLOADED,
      absl::StrCat("this node is overloaded: answers of ", unsent,
                   " bytes have not left it yet (at most ",
                   options_.max_unsent_bytes, "); try again later"));
}

CallLoadStats CallLoad::stats() const {
  CallLoadStats stats;
  stats.waiting = waiting_;
  stats.unsent_bytes = unsent_bytes_;
  stats.shed = shed_;
  stats.given_up = given_up_;
  return stats;
}

}  // namespace kamino::node
