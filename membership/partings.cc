#include "membership/partings.h"

#include <algorithm>

namespace kamino::membership {
namespace {

// Whether that member's own process is about to end, and the view does not say
// so yet.
bool IsParting(const View& view, const Member& member, const KnownNode& node) {
  const auto away = view.away.find(member.node_id);
  const bool is_known =
      away != view.away.end() && away->second.incarnation == member.incarnation;
  return node.member.incarnation == member.incarnation && !is_known &&
         node.report.stopping != Stopping::kNo;
}

}  // namespace

Parting Partings::Answer(const View& view, const KnownNodes& nodes,
                         const Exclusions& excluded, const Member& member,
                         absl::Time now) {
  Asked& asked = asked_[member.node_id];
  if (asked.incarnation != member.incarnation) {
    asked = {member.incarnation, now};
  }
  if (asked.goes) return Parting::kGo;
  const Parting parting = PartingOf(view, nodes, excluded);
  if (parting != Parting::kGo) return parting;
  if (!OthersCalled(view, nodes, asked, now)) return Parting::kWait;
  asked.goes = true;
  return Parting::kGo;
}

bool Partings::OthersCalled(const View& view, const KnownNodes& nodes,
                            const Asked& asked, absl::Time now) const {
  uint64_t called = 0;  // lately
  bool all = true;
  for (const Member& member : view.members) {
    const auto node = nodes.find(member.node_id);
    if (node == nodes.end() || IsParting(view, member, node->second)) continue;
    const auto told = told_.find(member.node_id);
    const bool has = told != told_.end() && told->second >= asked.since;
    called += has && now - told->second < patience_ ? 1 : 0;
    all = all && has;
  }
  if (called < LeastMembers(view.mode())) return false;
  return all || now - asked.since >= patience_;
}

absl::Duration Partings::CallAgainAfter(const View& view,
                                        const KnownNodes& nodes,
                                        const std::string& node_id,
                                        absl::Time now) {
  const bool any = std::any_of(
      view.members.begin(), view.members.end(), [&](const Member& member) {
        const auto node = nodes.find(member.node_id);
        if (node == nodes.end() || !IsParting(view, member, node->second)) {
          return false;
        }
        const auto asked = asked_.find(member.node_id);
        return asked == asked_.end() || now - asked->second.since < kLongest;
      });
  if (!any) return absl::ZeroDuration();
  told_[node_id] = now;
  return kLook;
}

void Partings::OnView(const View& view) {
  std::erase_if(asked_, [&](const auto& each) {
    return view.IndexOf(each.first, each.second.incarnation) < 0;
  });
  std::erase_if(told_, [&](const auto& each) {
    return std::none_of(
        view.members.begin(), view.members.end(),
        [&](const Member& member) { return member.node_id == each.first; });
  });
}

void Partings::Clear() {
  asked_.clear();
  told_.clear();
}

}  // namespace kamino::membership
