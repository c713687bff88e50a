#include "membership/manager/invitation.h"

#include <utility>

namespace kamino::membership {
namespace {

// In failure timeouts.
constexpr int kPatience = 30;
constexpr int kFirstTurn = 60;

bool IsNearer(const NodeReport& now, const NodeReport& before) {
  return now.condition == Condition::kReceiving ||
         now.condition != before.condition || now.cursors != before.cursors ||
         now.caught_up_view != before.caught_up_view;
}

// The nodes that follow in turn, before all are asked again.
KnownNodes After(const std::string& node_id, const KnownNodes& nodes) {
  return KnownNodes(nodes.upper_bound(node_id), nodes.end());
}

}  // namespace

void Invitation::Look(const View& view, const KnownNodes& nodes,
                      size_t chain_length, const Exclusions& excluded,
                      absl::Time now) {
  const auto next = [&](const KnownNodes& among, const std::string& current) {
    return NextToJoin(view, among, chain_length, current, excluded);
  };
  std::string to = next(nodes, holder_);
  if (!to.empty() && to == holder_) {
    const NodeReport& report = nodes.at(holder_).report;
    if (IsNearer(report, seen_)) {
      seen_ = report;
      since_ = now;
    }
    const bool over = now - began_ >= turn_;
    if (!over && now - since_ < failure_timeout_ * kPatience) return;
    if (over) turn_ *= 2;
    to = next(After(holder_, nodes), "");
    if (to.empty()) to = next(nodes, "");
  } else {
    turn_ = failure_timeout_ * kFirstTurn;
  }
  holder_ = std::move(to);
  began_ = since_ = now;
  seen_ = holder_.empty() ? NodeReport() : nodes.at(holder_).report;
}

}  // namespace kamino::membership
