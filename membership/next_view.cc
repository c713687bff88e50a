#include "membership/next_view.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace kamino::membership {
namespace {

absl::optional<View> FirstView(const View& view, const NodeStates& nodes,
                               size_t chain_length) {
  std::map<uint64_t, std::vector<Member>> by_heap;
  for (const auto& [id, node] : nodes) {
    if (!node.alive || node.condition != Condition::kFresh) continue;
    by_heap[node.member.heap_bytes].push_back(node.member);
  }
  for (auto& [heap_bytes, members] : by_heap) {
    if (members.size() < chain_length) continue;
    members.resize(chain_length);
    return View{view.cluster_id, 1, std::move(members)};
  }
  return absl::nullopt;
}

// The state of a member that can stay; null when it cannot.
const NodeState* Kept(const Member& member, const NodeStates& nodes) {
  const auto found = nodes.find(member.node_id);
  if (found == nodes.end() || !found->second.alive) return nullptr;
  const NodeState& node = found->second;
  const bool same = node.member.incarnation == member.incarnation;
  if (!same && !member.IsRestartedAs(node.member)) return nullptr;
  return node.condition == Condition::kReceiving ? nullptr : &node;
}

bool IsSound(Condition condition) {
  // Fresh: nothing can have been acknowledged without a member of the view.
  return condition == Condition::kSound || condition == Condition::kFresh;
}

bool IsInView(const View& view, const std::string& node_id) {
  return std::any_of(
      view.members.begin(), view.members.end(),
      [&](const Member& member) { return member.node_id == node_id; });
}

bool MayJoin(const View& view, const NodeState& node) {
  return node.alive && !IsInView(view, node.member.node_id) &&
         node.member.heap_bytes == view.head().heap_bytes;
}

// Whom to append to a chain whose members stay as they are; null for nobody.
const Member* Joins(const View& view, const NodeStates& nodes,
                    size_t chain_length) {
  if (view.members.size() >= chain_length) return nullptr;
  for (const Member& member : view.members) {
    // One that joined before must have caught up: it holds nothing that the
    // others could do without.
    if (!IsSound(nodes.at(member.node_id).condition)) return nullptr;
  }
  for (const auto& [id, node] : nodes) {
    if (MayJoin(view, node) && node.condition == Condition::kBehind &&
        node.caught_up_view == view.id) {
      return &node.member;
    }
  }
  return nullptr;
}

}  // namespace

bool CanGoOn(const View& view, const NodeStates& nodes) {
  int there = 0;
  bool whole = false;
  for (const Member& member : view.members) {
    const NodeState* node = Kept(member, nodes);
    if (node == nullptr) continue;
    const bool sound = IsSound(node->condition);
    const bool went_on = node->member.incarnation == member.incarnation;
    if ((sound && went_on) || view.members.size() == 1) return true;
    ++there;
    whole = whole || sound || node->condition == Condition::kTorn;
  }
  return whole && there >= 2;
}

absl::optional<View> NextView(const View& view, const NodeStates& nodes,
                              size_t chain_length) {
  if (!view.formed()) return FirstView(view, nodes, chain_length);
  View next{view.cluster_id, view.id + 1, {}};
  for (const Member& member : view.members) {
    const NodeState* node = Kept(member, nodes);
    if (node == nullptr) continue;
    const bool same = node->member.incarnation == member.incarnation;
    next.members.push_back(same ? member : node->member);
  }
  if (next.members.size() < view.members.size()) {
    if (next.members.empty() || !CanGoOn(view, nodes)) return absl::nullopt;
    return next;
  }
  if (next.members != view.members) return next;
  const Member* joins = Joins(view, nodes, chain_length);
  if (joins == nullptr) return absl::nullopt;
  next.members.push_back(*joins);
  return next;
}

std::string NextToJoin(const View& view, const NodeStates& nodes,
                       size_t chain_length, const std::string& current) {
  if (!view.formed() || view.members.size() >= chain_length) return "";
  const auto found = nodes.find(current);
  if (found != nodes.end() && MayJoin(view, found->second)) return current;
  for (const auto& [id, node] : nodes) {
    if (MayJoin(view, node)) return id;
  }
  return "";
}

}  // namespace kamino::membership
