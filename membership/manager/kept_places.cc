#include "membership/manager/kept_places.h"

#include <algorithm>

namespace kamino::membership {

void KeptPlaces::NoteAway(const AwayTimes& before, absl::Time now) {
  for (const auto& [node_id, away] : context_->view.away) {
    const auto already = before.find(node_id);
    if (already != before.end()) {
      away_since_[node_id] = now - already->second;
    } else {
      away_since_.emplace(node_id, now);
    }
  }
  std::erase_if(away_since_, [this](const auto& each) {
    return context_->view.away.count(each.first) == 0;
  });
}

AwayTimes KeptPlaces::away_times(absl::Time now) const {
  AwayTimes times;
  for (const auto& [node_id, since] : away_since_) {
    times[node_id] = std::max(now - since, absl::ZeroDuration());
  }
  return times;
}

absl::Duration KeptPlaces::AwayLeft(const std::string& node_id,
                                    absl::Time now) const {
  const auto since = away_since_.find(node_id);
  if (since == away_since_.end() || context_->view.away.count(node_id) == 0) {
    return absl::ZeroDuration();
  }
  return std::max(context_->options.away_limit - (now - since->second),
                  absl::ZeroDuration());
}

bool KeptPlaces::IsGone(const std::string& node_id, absl::Time now) const {
  return context_->view.away.count(node_id) > 0 &&
         AwayLeft(node_id, now) == absl::ZeroDuration();
}

View KeptPlaces::WithoutGone(absl::Time now) const {
  View view = context_->view;
  std::erase_if(view.away,
                [&](const auto& each) { return IsGone(each.first, now); });
  return view;
}

bool KeptPlaces::Keeps(const Member& member, absl::Time now) const {
  const auto away = context_->view.away.find(member.node_id);
  return away != context_->view.away.end() &&
         away->second.incarnation == member.incarnation &&
         context_->ActsInView(member) && !IsGone(member.node_id, now);
}

}  // namespace kamino::membership
