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
    absl::Span<const Connection> connections, int64_t calls, absl::Time now) {
  std::vector<std::pair<int64_t, int64_t>> begun;  // this second; id
  absl::flat_hash_map<int64_t, Second> seconds;
  // Else nobody has looked meanwhile: what was begun since may be of days.
  const bool follows = now - looked_ <= kLate;
  looked_ = now;
  for (const Connection& each : connections) {
    const auto known = seconds_.find(each.id);
    Second second = {now, follows ? 0 : each.unanswered};
    if (follows && known != seconds_.end()) second = known->second;
    begun.emplace_back(each.unanswered - second.unanswered, each.id);
    if (now - second.began >= kSecond) second = {now, each.unanswered};
    seconds.emplace(each.id, second);
  }
  seconds_ = std::move(seconds);
  std::sort(begun.rbegin(), begun.rend());
  std::vector<int64_t> ended;
  int64_t over = calls - limits_.calls;
  for (const auto& [since, id] : begun) {
    if (since <= limits_.of_connection && (over <= 0 || since <= 0)) break;
    over -= since;
    ended.push_back(id);
  }
  return ended;
}

}  // namespace kamino::rpc
