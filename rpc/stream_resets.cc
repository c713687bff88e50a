#include "rpc/stream_resets.h"

#include <algorithm>
#include <utility>

namespace kamino::rpc {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);
// A look may be late, on a machine that has much to do.
constexpr absl::Duration kLate = absl::Seconds(5);

}  // namespace

std::vector<int64_t> StreamResets::Look(
    absl::Span<const Connection> connections, absl::Time now) {
  std::vector<int64_t> ended;
  absl::flat_hash_map<int64_t, Second> seconds;
  // After a long gap, the streams that are new to this look may have begun over
  // days.
  const bool follows = now - looked_ <= kLate;
  const absl::Time before = std::exchange(looked_, now);
  for (const Connection& each : connections) {
    const auto known = seconds_.find(each.id);
    Second second = {now, each.unanswered};
    if (follows) {
      second = known != seconds_.end() ? known->second : Second{before, 0};
    }
    // Looks may be a second apart, and then this one covers up to two.
    const double limit =
        limits_.of_connection *
        std::max(1.0, absl::FDivDuration(now - second.began, kSecond));
    if (each.unanswered - second.unanswered > limit) {
      ended.push_back(each.id);
    }
    if (now - second.began >= kSecond) second = {now, each.unanswered};
    seconds.emplace(each.id, second);
  }
  seconds_ = std::move(seconds);
  return ended;
}

}  // namespace kamino::rpc
