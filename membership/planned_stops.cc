// The part of ManagerCore for planned stops: the answers to stopping members,
// the view that drops them at once, and how long their places are kept.
#include <algorithm>
#include <optional>
#include <utility>

#include "membership/manager_core.h"

namespace kamino::membership {

Parting ManagerCore::PartingFor(const std::string& node_id, absl::Time now) {
  const auto found = nodes_.find(node_id);
  if (found == nodes_.end()) return Parting::kUnknown;
  const Member& member = found->second.state.member;
  // The chain already continues without it.
  if (!ActsInView(member)) return Parting::kGo;
  const auto away = view_.away.find(node_id);
  if (away != view_.away.end() &&
      away->second.incarnation == member.incarnation) {
    return Parting::kStay;
  }
  if (found->second.state.surrendered()) return Parting::kWait;
  return partings_.Answer(WithoutGone(now), States(now), excluded_, member,
                          now);
}

absl::Duration ManagerCore::CallAgainAfter(const std::string& node_id,
                                           absl::Time now) {
  return partings_.CallAgainAfter(view_, States(now), node_id, now);
}

bool ManagerCore::MayHandOver(absl::Time now) const {
  bool any = false;
  for (const Member& member : view_.members) {
    const auto found = nodes_.find(member.node_id);
    if (found == nodes_.end()) return false;
    // The store may be older than what this member knows.
    if (now < hear_all_until_ && !found->second.heard) return false;
    any |= found->second.state.surrendered() && ActsInView(member);
  }
  return any;
}

std::optional<View> ManagerCore::HandedOver(absl::Time now) const {
  if (!view_.formed() || !MayHandOver(now)) return std::nullopt;
  const View view = WithoutGone(now);
  const KnownNodes states = States(now);
  auto next = NextView(view, states, options_.chain_length, excluded_);
  if (next.has_value() && IsHandover(view, *next, states)) return next;
  return std::nullopt;
}

KnownNode ManagerCore::StateOf(const Node& node, absl::Time now) const {
  KnownNode state = node.state;
  state.alive = Alive(node, now) && !state.surrendered();
  // Its place is no longer kept: the manager treats it as any silent node.
  if (IsGone(state.member.node_id, now)) {
    state.report.stopping = Stopping::kNo;
  }
  state.must_hold = progress_.acknowledged;
  return state;
}

// --- How long they are away.

void ManagerCore::NoteAway(const AwayTimes& before, absl::Time now) {
  for (const auto& [node_id, away] : view_.away) {
    const auto already = before.find(node_id);
    if (already != before.end()) {
      away_since_[node_id] = now - already->second;
    } else {
      away_since_.emplace(node_id, now);
    }
  }
  std::erase_if(away_since_, [this](const auto& each) {
    return view_.away.count(each.first) == 0;
  });
}

ManagerCore::AwayTimes ManagerCore::away_times(absl::Time now) const {
  AwayTimes times;
  for (const auto& [node_id, since] : away_since_) {
    times[node_id] = std::max(now - since, absl::ZeroDuration());
  }
  return times;
}

absl::Duration ManagerCore::AwayLeft(const std::string& node_id,
                                     absl::Time now) const {
  const auto since = away_since_.find(node_id);
  if (since == away_since_.end() || view_.away.count(node_id) == 0) {
    return absl::ZeroDuration();
  }
  return std::max(options_.away_limit - (now - since->second),
                  absl::ZeroDuration());
}

bool ManagerCore::IsGone(const std::string& node_id, absl::Time now) const {
  return view_.away.count(node_id) > 0 &&
         AwayLeft(node_id, now) == absl::ZeroDuration();
}

View ManagerCore::WithoutGone(absl::Time now) const {
  View view = view_;
  std::erase_if(view.away,
                [&](const auto& each) { return IsGone(each.first, now); });
  return view;
}

bool ManagerCore::KeepsPlace(const Member& member, absl::Time now) const {
  const auto away = view_.away.find(member.node_id);
  return away != view_.away.end() &&
         away->second.incarnation == member.incarnation && ActsInView(member) &&
         !IsGone(member.node_id, now);
}

}  // namespace kamino::membership
