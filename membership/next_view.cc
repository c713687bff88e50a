#include "membership/next_view.h"

#include <utility>
#include <vector>

namespace kamino::membership {
namespace {

absl::optional<View> FirstView(const View& view,
                               const std::map<std::string, NodeState>& nodes,
                               size_t chain_length) {
  std::map<uint64_t, std::vector<Member>> by_heap;
  for (const auto& [id, node] : nodes) {
    if (node.alive) by_heap[node.member.heap_bytes].push_back(node.member);
  }
  for (auto& [heap_bytes, members] : by_heap) {
    if (members.size() < chain_length) continue;
    members.resize(chain_length);
    return View{view.cluster_id, 1, std::move(members)};
  }
  return absl::nullopt;
}

}  // namespace

absl::optional<View> NextView(const View& view,
                              const std::map<std::string, NodeState>& nodes,
                              size_t chain_length) {
  if (!view.formed()) return FirstView(view, nodes, chain_length);
  View next{view.cluster_id, view.id + 1, {}};
  for (const Member& member : view.members) {
    const auto found = nodes.find(member.node_id);
    if (found != nodes.end() && found->second.alive &&
        found->second.member.incarnation == member.incarnation) {
      next.members.push_back(member);
    }
  }
  if (next.members.empty() || next.members.size() == view.members.size()) {
    return absl::nullopt;
  }
  return next;
}

}  // namespace kamino::membership
