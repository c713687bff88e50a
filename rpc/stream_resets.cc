#include "rpc/stream_resets.h"

#include <utility>

namespace kamino::rpc {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
// A check may be late on a busy machine.
constexpr absl::Duration kLate = absl::Seconds(5);

}  // namespace

std::vector<int64_t> StreamResets::Look(
    absl::Span<const Connection> connections, absl::Time now) {
  std::vector<int64_t> ended;
  absl::flat_hash_map<int64_t, Second> seconds;
  // After a long gap, the streams that are new to this look may have begun days
  // ago.
  const bool follows = now - looked_ <= kLate;
  looked_ = now;
  for (const Connection& each : connections) {
    const auto known = seconds_.find(each.id);
    Second second = {now, follows ? 0 : each.unanswered};
    if (follows && known != seconds_.end()) second = known->second;
    if (each.unanswered - second.unanswered > limits_.of_connection) {
      ended.push_back(each.id);
    }
    if (now - second.began >= kSecond) second = {now, each.unanswered};
    seconds.emplace(each.id, second);
  }
  seconds_ = std::move(seconds);
  return ended;
}

}  // namespace kamino::rpc
