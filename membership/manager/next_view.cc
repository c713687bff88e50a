#include "membership/manager/next_view.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace kamino::membership {
namespace {

bool IsRemoved(const std::string& node_id, const Exclusions& excluded) {
  const auto found = excluded.find(node_id);
  return found != excluded.end() && !found->second;
}

// The number of members that are not to be removed.
size_t Lasting(const View& view, const Exclusions& excluded) {
  return static_cast<size_t>(std::count_if(
      view.members.begin(), view.members.end(), [&](const Member& member) {
        return excluded.count(member.node_id) == 0;
      }));
}

// Nodes that may be in the first view, by heap size.
std::map<uint64_t, std::vector<Member>> Founders(const KnownNodes& nodes,
                                                 const Exclusions& excluded) {
  std::map<uint64_t, std::vector<Member>> by_heap;
  for (const auto& [id, node] : nodes) {
    if (!node.alive || node.report.condition != Condition::kFresh ||
        excluded.count(id) > 0) {
      continue;
    }
    by_heap[node.member.heap_bytes].push_back(node.member);
  }
  return by_heap;
}

std::optional<View> FirstView(const View& view, const KnownNodes& nodes,
                              size_t chain_length, const Exclusions& excluded) {
  for (auto& [heap_bytes, members] : Founders(nodes, excluded)) {
    if (members.size() < chain_length) continue;
    members.resize(chain_length);
    return View{view.cluster_id, 1, std::move(members), excluded,
                view.chain_id};
  }
  return std::nullopt;
}

// Whether the node is that member, on the same heap, and its reports on the
// chain's mutations count.
bool SpeaksFor(const KnownNode& node, const Member& member) {
  return node.member.heap_id == member.heap_id &&
         node.member.incarnation >= member.incarnation &&
         node.report.condition != Condition::kReceiving;
}

// The state of a member that can stay; null: it cannot.
const KnownNode* Kept(const View& view, const Member& member,
                      const KnownNodes& nodes) {
  const auto found = nodes.find(member.node_id);
  if (found == nodes.end() || !found->second.alive) return nullptr;
  const KnownNode& node = found->second;
  if (node.report.condition == Condition::kReceiving ||
      node.member.heap_id != member.heap_id) {
    return nullptr;
  }
  // It may hold a lease, so it stays until it is silent.
  if (node.member.incarnation == member.incarnation) return &node;
  if (!member.IsRestartedAs(node.member)) return nullptr;
  return ShortfallOf(view, nodes, member.node_id).has_value() ? nullptr : &node;
}

// The members that can stay, in order. A member that is behind catches up from
// those before it and must not be first. It has never answered a client,
// because it is not ready (Soundness::ready), so no view need wait for its
// lease.
std::vector<std::pair<const Member*, const KnownNode*>> Staying(
    const View& view, const KnownNodes& nodes) {
  std::vector<std::pair<const Member*, const KnownNode*>> staying;
  for (const Member& member : view.members) {
    const KnownNode* node = Kept(view, member, nodes);
    if (node == nullptr) continue;
    const bool first = staying.empty();
    if (first && node->report.condition == Condition::kBehind) continue;
    staying.emplace_back(&member, node);
  }
  return staying;
}

// Whether the member's node has returned without its data, so that waiting is
// pointless.
bool IsLost(const View& view, const Member& member, const KnownNodes& nodes) {
  const auto found = nodes.find(member.node_id);
  return found != nodes.end() &&
         (found->second.alive || found->second.turned_away) &&
         Kept(view, member, nodes) == nullptr;
}

bool IsSound(Condition condition) {
  // Fresh: nothing can be acknowledged without a member of the view.
  return condition == Condition::kSound || condition == Condition::kFresh;
}

bool IsInView(const View& view, const std::string& node_id) {
  return std::any_of(
      view.members.begin(), view.members.end(),
      [&](const Member& member) { return member.node_id == node_id; });
}

// Whether that process has stopped, or is about to, and holds no lease.
bool HasStopped(const View& view, const Member& member,
                const KnownNodes& nodes) {
  const auto away = view.away.find(member.node_id);
  if (away != view.away.end() &&
      away->second.incarnation == member.incarnation) {
    return true;
  }
  const auto found = nodes.find(member.node_id);
  return found != nodes.end() && found->second.surrendered() &&
         found->second.member.incarnation == member.incarnation;
}

// Whether the place of that stopped member is kept: it was not restarted and is
// not to be removed.
bool IsWaitedFor(const View& view, const Member& member,
                 const KnownNodes& nodes, const Exclusions& excluded) {
  return HasStopped(view, member, nodes) &&
         Kept(view, member, nodes) == nullptr && !IsLost(view, member, nodes) &&
         !IsRemoved(member.node_id, excluded);
}

// Whether the members that stay, and do not stop, hold all data, so that the
// others may be away.
bool AreEnough(
    const View& view,
    const std::vector<std::pair<const Member*, const KnownNode*>>& staying,
    const Exclusions& excluded) {
  const auto holding =
      std::count_if(staying.begin(), staying.end(), [&](const auto& each) {
        return each.second->report.ClaimsAll() &&
               each.second->report.stopping == Stopping::kNo &&
               !IsRemoved(each.first->node_id, excluded);
      });
  return static_cast<uint64_t>(holding) >= LeastMembers(view.mode());
}

// Sets `away` of `next`, which is otherwise complete.
void NoteAway(const View& view, const KnownNodes& nodes, View* next) {
  for (const auto& [node_id, away] : view.away) {
    const bool comes_back = IsInView(*next, node_id) &&
                            next->IndexOf(node_id, away.incarnation) < 0;
    if (!comes_back && next->excluded.count(node_id) == 0) {
      next->away[node_id] = away;
    }
  }
  for (const Member& member : view.members) {
    const std::string& id = member.node_id;
    if (!HasStopped(view, member, nodes) || next->excluded.count(id) > 0) {
      continue;
    }
    const bool keeps_place = next->IndexOf(id, member.incarnation) >= 0;
    const bool was_known = view.away.count(id) > 0;
    if (IsInView(*next, id) && !keeps_place) continue;  // restarted
    if (keeps_place && was_known) continue;
    next->away[id] = {member.incarnation, member.heap_id, next->id,
                      &member == &view.head()};
  }
}

// All members keep their places, because too many have stopped: the stopped
// ones are away in their places. Nothing: the view says so already.
std::optional<View> AllWait(const View& view, const KnownNodes& nodes,
                            View next) {
  next.members = view.members;
  next.away.clear();
  NoteAway(view, nodes, &next);
  if (next.away == view.away) return std::nullopt;
  return next;
}

// The number of places kept for nodes that are away, other than that one.
size_t PlacesKept(const View& view, const Exclusions& excluded,
                  const std::string& but) {
  return static_cast<size_t>(
      std::count_if(view.away.begin(), view.away.end(), [&](const auto& each) {
        return each.first != but && !IsInView(view, each.first) &&
               excluded.count(each.first) == 0;
      }));
}

// Whether the chain has a place for that node.
bool HasRoomFor(const View& view, size_t chain_length,
                const Exclusions& excluded, const std::string& node_id) {
  const size_t taken = Lasting(view, excluded);
  // A node that was away takes its own place.
  if (view.away.count(node_id) > 0) return taken < chain_length;
  return taken + PlacesKept(view, excluded, node_id) < chain_length;
}

bool MayJoin(const View& view, const KnownNode& node,
             const Exclusions& excluded) {
  return node.alive && excluded.count(node.member.node_id) == 0 &&
         !IsInView(view, node.member.node_id) &&
         node.member.heap_bytes == view.head().heap_bytes;
}

// The node to append to a chain whose members stay; null: none.
const Member* Joins(const View& view, const KnownNodes& nodes,
                    size_t chain_length, const Exclusions& excluded) {
  for (const Member& member : view.members) {
    // A node that joined before must have caught up first: until then it does
    // not count as a copy.
    if (!IsSound(nodes.at(member.node_id).report.condition)) return nullptr;
  }
  for (const auto& [id, node] : nodes) {
    if (MayJoin(view, node, excluded) &&
        node.report.condition == Condition::kBehind &&
        node.report.caught_up_view == view.id &&
        HasRoomFor(view, chain_length, excluded, id)) {
      return &node.member;
    }
  }
  return nullptr;
}

}  // namespace

bool RunsWithAll(const Member& member, const KnownNodes& nodes) {
  const auto found = nodes.find(member.node_id);
  if (found == nodes.end() || !found->second.alive) return false;
  const KnownNode& node = found->second;
  return SpeaksFor(node, member) && node.report.ClaimsAll() &&
         node.report.condition != Condition::kFresh;
}

std::optional<Shortfall> ShortfallOf(const View& view, const KnownNodes& nodes,
                                     const std::string& node_id) {
  const auto found = nodes.find(node_id);
  const auto member =
      std::find_if(view.members.begin(), view.members.end(),
                   [&](const Member& each) { return each.node_id == node_id; });
  if (found == nodes.end() || member == view.members.end()) {
    return std::nullopt;
  }
  const KnownNode& node = found->second;
  if (!SpeaksFor(node, *member) || !node.report.ClaimsAll()) {
    return std::nullopt;
  }
  Shortfall shortfall{node.report.cursors.applied, node.held, node_id};
  const auto need = [&shortfall](uint64_t sequence, const std::string& by) {
    if (sequence <= shortfall.needs) return;
    shortfall.needs = sequence;
    shortfall.known_by = by;
  };
  const bool went_on = node.member.incarnation == member->incarnation &&
                       node.report.condition != Condition::kOutrun;
  if (!went_on) need(node.must_hold, "");
  for (auto other = view.members.begin();
       other != view.members.end() && !went_on; ++other) {
    const auto known = nodes.find(other->node_id);
    if (other == member || known == nodes.end() ||
        !SpeaksFor(known->second, *other)) {
      continue;
    }
    need(known->second.report.cursors.cleaned, other->node_id);
    // The node received it from the member, which had applied it.
    if (other > member)
      need(known->second.report.cursors.received, other->node_id);
  }
  if (shortfall.holds >= shortfall.needs) return std::nullopt;
  return shortfall;
}

bool CanContinue(const View& view, const KnownNodes& nodes,
                 const Exclusions& excluded) {
  size_t there = 0;
  size_t hopeless = 0;
  bool whole = false;
  bool any_sound = false;
  bool removed_lives = false;
  const auto staying = Staying(view, nodes);
  for (const Member& member : view.members) {
    const bool stays = std::any_of(
        staying.begin(), staying.end(),
        [&member](const auto& each) { return each.first == &member; });
    hopeless += IsLost(view, member, nodes) ||
                (!stays && Kept(view, member, nodes) != nullptr);
  }
  for (const auto& [member, node] : staying) {
    if (IsRemoved(member->node_id, excluded)) {
      removed_lives = true;
      continue;
    }
    // A live process resets this with its next report.
    if (node->turned_away && view.members.size() > 1) continue;
    const bool returned = node->report.condition == Condition::kReturned;
    const bool sound = IsSound(node->report.condition) || returned;
    const bool went_on =
        node->member.incarnation == member->incarnation && !returned;
    if ((sound && went_on) || view.members.size() == 1) return true;
    ++there;
    any_sound = any_sound || sound;
    whole = whole || sound || node->report.condition == Condition::kTorn;
  }
  if (any_sound && there + hopeless == view.members.size()) return true;
  // If nodes repair themselves, one sound member is enough; a torn one still
  // needs a neighbour. But a returned node, perhaps on a stale copy, must be
  // confirmed before the live member leaves that can confirm it.
  if (any_sound && RepairsAlone(view.mode()) && !removed_lives) return true;
  return whole && there >= 2;
}

std::optional<View> NextView(const View& view, const KnownNodes& nodes,
                             size_t chain_length, const Exclusions& excluded) {
  if (!view.formed()) return FirstView(view, nodes, chain_length, excluded);
  View next{view.cluster_id, view.id + 1, {}, excluded, view.chain_id};
  const auto staying = Staying(view, nodes);
  for (const auto& [member, node] : staying) {
    const bool same = node->member.incarnation == member->incarnation;
    next.members.push_back(same ? *member : node->member);
  }
  NoteAway(view, nodes, &next);
  if (next.members.size() < view.members.size()) {
    const bool can = !next.members.empty() && CanContinue(view, nodes);
    const bool any_stopped = std::any_of(
        view.members.begin(), view.members.end(), [&](const Member& member) {
          return IsWaitedFor(view, member, nodes, excluded);
        });
    if (any_stopped && (!can || !AreEnough(view, staying, excluded))) {
      return AllWait(view, nodes, std::move(next));
    }
    if (!can) return std::nullopt;
    return next;
  }
  if (next.members != view.members || next.excluded != view.excluded) {
    return next;
  }
  const Member* joins = Joins(view, nodes, chain_length, excluded);
  if (joins == nullptr) return std::nullopt;
  next.members.push_back(*joins);
  next.away.erase(joins->node_id);
  return next;
}

bool IsHandover(const View& view, const View& next, const KnownNodes& nodes) {
  return std::all_of(
             view.members.begin(), view.members.end(),
             [&](const Member& member) {
               if (next.IndexOf(member.node_id, member.incarnation) >= 0) {
                 return true;
               }
               const auto found = nodes.find(member.node_id);
               return found != nodes.end() && found->second.surrendered() &&
                      found->second.member.incarnation == member.incarnation;
             }) &&
         std::all_of(next.members.begin(), next.members.end(),
                     [&](const Member& member) {
                       return view.IndexOf(member.node_id,
                                           member.incarnation) >= 0;
                     });
}

StopPermission PermissionOf(const View& view, const KnownNodes& nodes,
                            const Exclusions& excluded) {
  uint64_t left = 0;
  bool all_sound = true;
  for (const Member& member : view.members) {
    const KnownNode* node = Kept(view, member, nodes);
    if (node == nullptr || node->report.stopping != Stopping::kNo ||
        HasStopped(view, member, nodes) ||
        IsRemoved(member.node_id, excluded)) {
      continue;
    }
    ++left;
    all_sound = all_sound && IsSound(node->report.condition) &&
                node->member.incarnation == member.incarnation;
  }
  if (left < LeastMembers(view.mode())) return StopPermission::kStay;
  return all_sound ? StopPermission::kGo : StopPermission::kWait;
}

size_t NodesMissing(const View& view, const KnownNodes& nodes,
                    size_t chain_length, const Exclusions& excluded) {
  if (view.formed()) return 0;
  size_t most = 0;
  for (const auto& [heap_bytes, members] : Founders(nodes, excluded)) {
    most = std::max(most, members.size());
  }
  return chain_length - std::min(chain_length, most);
}

bool ShouldLeave(const View& view, const KnownNodes& nodes, size_t chain_length,
                 const Exclusions& excluded, const std::string& node_id) {
  const auto found = excluded.find(node_id);
  if (found == excluded.end() || !IsInView(view, node_id)) return false;
  const bool drain = found->second;
  if (!drain) return CanContinue(view, nodes, excluded);
  // The chain must be complete without it, including the last node that joined.
  // The member itself need not be sound: it must not be admitted again once it
  // has been silent for long enough.
  return Lasting(view, excluded) >= chain_length &&
         std::all_of(view.members.begin(), view.members.end(),
                     [&](const Member& member) {
                       if (member.node_id == node_id) return true;
                       const KnownNode* node = Kept(view, member, nodes);
                       return node != nullptr &&
                              IsSound(node->report.condition);
                     });
}

std::string NextToJoin(const View& view, const KnownNodes& nodes,
                       size_t chain_length, const std::string& current,
                       const Exclusions& excluded) {
  if (!view.formed()) return "";
  const auto may = [&](const std::string& id, const KnownNode& node) {
    return MayJoin(view, node, excluded) &&
           HasRoomFor(view, chain_length, excluded, id);
  };
  const auto found = nodes.find(current);
  if (found != nodes.end() && may(current, found->second)) return current;
  // Nodes that were away first: they lack the least.
  for (const bool was_away : {true, false}) {
    for (const auto& [id, node] : nodes) {
      if ((view.away.count(id) > 0) == was_away && may(id, node)) return id;
    }
  }
  return "";
}

}  // namespace kamino::membership
