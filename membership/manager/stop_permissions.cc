#include "membership/manager/stop_permissions.h"

#include <algorithm>

namespace kamino::membership {
namespace {

// Whether the member's process is about to end, and the view does not say so
// yet.
bool IsStopping(const View& view, const Member& member, const KnownNode& node) {
  const auto away = view.away.find(member.node_id);
  const bool is_known =
      away != view.away.end() && away->second.incarnation == member.incarnation;
  return node.member.incarnation == member.incarnation && !is_known &&
         node.report.stopping != Stopping::kNo;
}

// Whether the member neither stops, has ended, nor is to be removed. A process
// that was restarted on the member's heap with the member's data stays as well:
// the view still names the process before it.
bool Stays(const View& view, const KnownNodes& nodes,
           const Exclusions& excluded, const Member& member) {
  const auto node = nodes.find(member.node_id);
  if (node == nodes.end() || excluded.contains(member.node_id) ||
      node->second.report.stopping != Stopping::kNo) {
    return false;
  }
  const auto away = view.away.find(member.node_id);
  const bool has_ended =
      away != view.away.end() && away->second.incarnation == member.incarnation;
  const Member& known = node->second.member;
  return known.incarnation == member.incarnation
             ? !has_ended
             : known.heap_id == member.heap_id &&
                   node->second.report.ClaimsAll();
}

}  // namespace

StopPermission StopPermissions::Answer(const View& view,
                                       const KnownNodes& nodes,
                                       const Exclusions& excluded,
                                       const Member& member, absl::Time now) {
  Asked& asked = asked_[member.node_id];
  if (asked.incarnation != member.incarnation) {
    asked = {member.incarnation, now};
  }
  if (asked.goes) return StopPermission::kGo;
  const StopPermission permission = PermissionOf(view, nodes, excluded);
  if (permission != StopPermission::kGo) return permission;
  if (!EnoughCalled(view, nodes, excluded, now)) return StopPermission::kWait;
  if (now - asked.since < patience_ &&
      !AllCalled(view, nodes, excluded, asked)) {
    return StopPermission::kWait;
  }
  asked.goes = true;
  return StopPermission::kGo;
}

bool StopPermissions::MayFollow(const View& view, const View& next,
                                const KnownNodes& nodes,
                                const Exclusions& excluded,
                                absl::Time now) const {
  const bool leaves_out = std::any_of(
      view.members.begin(), view.members.end(), [&](const Member& member) {
        const auto node = nodes.find(member.node_id);
        return next.IndexOf(member.node_id, member.incarnation) < 0 &&
               node != nodes.end() && node->second.surrendered() &&
               IsStopping(view, member, node->second);
      });
  return !leaves_out || EnoughCalled(view, nodes, excluded, now);
}

bool StopPermissions::EnoughCalled(const View& view, const KnownNodes& nodes,
                                   const Exclusions& excluded,
                                   absl::Time now) const {
  const auto called = std::count_if(
      view.members.begin(), view.members.end(), [&](const Member& member) {
        const auto told = told_.find(member.node_id);
        return Stays(view, nodes, excluded, member) && told != told_.end() &&
               now - told->second < patience_;
      });
  return static_cast<uint64_t>(called) >= LeastMembers(view.mode());
}

bool StopPermissions::AllCalled(const View& view, const KnownNodes& nodes,
                                const Exclusions& excluded,
                                const Asked& asked) const {
  return std::all_of(
      view.members.begin(), view.members.end(), [&](const Member& member) {
        const auto told = told_.find(member.node_id);
        return !Stays(view, nodes, excluded, member) ||
               (told != told_.end() && told->second >= asked.since);
      });
}

absl::Duration StopPermissions::CallAgainAfter(const View& view,
                                               const KnownNodes& nodes,
                                               const std::string& node_id,
                                               absl::Time now) {
  bool any = false;
  bool hurries = false;
  for (const Member& member : view.members) {
    const auto node = nodes.find(member.node_id);
    if (node == nodes.end() || !IsStopping(view, member, node->second)) {
      continue;
    }
    any = true;
    const auto asked = asked_.find(member.node_id);
    hurries |= asked == asked_.end() || now - asked->second.since < kLongest;
  }
  if (any) told_[node_id] = now;
  return hurries ? kLook : absl::ZeroDuration();
}

void StopPermissions::OnView(const View& view) {
  std::erase_if(asked_, [&](const auto& each) {
    return view.IndexOf(each.first, each.second.incarnation) < 0;
  });
  std::erase_if(told_, [&](const auto& each) {
    return std::none_of(
        view.members.begin(), view.members.end(),
        [&](const Member& member) { return member.node_id == each.first; });
  });
}

void StopPermissions::Clear() {
  asked_.clear();
  told_.clear();
}

}  // namespace kamino::membership
