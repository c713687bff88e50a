// The part of ManagerCore that describes the known nodes.
#include <algorithm>
#include <vector>

#include "membership/manager_core.h"

namespace kamino::membership {

std::vector<ManagerCore::Known> ManagerCore::nodes(absl::Time now) const {
  std::vector<Known> known;
  for (const auto& [id, former] : nodes_) {
    const auto waits = waiting_.find(id);
    const bool waits_now = waits != waiting_.end() && Alive(waits->second, now);
    const Node& node = waits_now ? waits->second : former;
    known.push_back({StateOf(node, now),
                     std::max(now - node.last_heard, absl::ZeroDuration()),
                     id == invitation_.holder(), suspects_.Is(id),
                     suspects_.KeptOut(id, now),
                     std::max(node.last_heard - now, absl::ZeroDuration())});
  }
  return known;
}

KnownNodes ManagerCore::States(absl::Time now) const {
  KnownNodes states;
  for (const auto& [id, node] : nodes_) states[id] = StateOf(node, now);
  return states;
}

size_t ManagerCore::NodesMissing(absl::Time now) const {
  return membership::NodesMissing(view_, States(now), options_.chain_length,
                                  excluded_);
}

}  // namespace kamino::membership
