#include "membership/manager/manager_context.h"

#include <algorithm>
#include <utility>

namespace kamino::membership {

void ManagerContext::SetView(const View& stored) {
  view = stored;
  view.cluster_id = options.cluster_id;
  view.chain_id = options.chain_id;
}

void ManagerContext::Propose(std::optional<View> next) {
  proposed = std::move(next);
  recovers = false;
}

bool ManagerContext::HasPlace(const Member& member) const {
  return std::any_of(
      view.members.begin(), view.members.end(), [&](const Member& each) {
        return each.node_id == member.node_id && each.heap_id == member.heap_id;
      });
}

bool ManagerContext::ActsInView(const Member& member) const {
  return view.IndexOf(member.node_id, member.incarnation) >= 0;
}

}  // namespace kamino::membership
