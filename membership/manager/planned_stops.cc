#include "membership/manager/planned_stops.h"

#include <optional>

namespace kamino::membership {

StopPermission PlannedStops::PermissionFor(const std::string& node_id,
                                           absl::Time now) {
  const Node* const found = registry_->Find(node_id);
  if (found == nullptr) return StopPermission::kUnknown;
  const Member& member = found->state.member;
  // The chain already continues without it.
  if (!context_->ActsInView(member)) return StopPermission::kGo;
  const auto away = context_->view.away.find(node_id);
  if (away != context_->view.away.end() &&
      away->second.incarnation == member.incarnation) {
    return StopPermission::kStay;
  }
  if (found->state.surrendered()) return StopPermission::kWait;
  return stop_permissions_.Answer(places_->WithoutGone(now),
                                  registry_->States(now), context_->excluded,
                                  member, now);
}

absl::Duration PlannedStops::CallAgainAfter(const std::string& node_id,
                                            absl::Time now) {
  return stop_permissions_.CallAgainAfter(context_->view,
                                          registry_->States(now), node_id, now);
}

bool PlannedStops::MayFollow(const View& next, const KnownNodes& states,
                             absl::Time now) const {
  return stop_permissions_.MayFollow(context_->view, next, states,
                                     context_->excluded, now);
}

bool PlannedStops::MayHandOver(absl::Time now) const {
  bool any = false;
  for (const Member& member : context_->view.members) {
    const Node* const found = registry_->Find(member.node_id);
    if (found == nullptr) return false;
    // The store may be older than what this member knows.
    if (watch_->awaits_members(now) && !found->heard) return false;
    any |= found->state.surrendered() && context_->ActsInView(member);
  }
  return any;
}

std::optional<View> PlannedStops::HandedOver(absl::Time now) const {
  if (!context_->view.formed() || !MayHandOver(now)) return std::nullopt;
  const View view = places_->WithoutGone(now);
  const KnownNodes states = registry_->States(now);
  auto next = NextView(view, states, context_->options.chain_length,
                       context_->excluded);
  if (next.has_value() && IsHandover(view, *next, states)) return next;
  return std::nullopt;
}

}  // namespace kamino::membership
