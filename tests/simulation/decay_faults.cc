// Faults: wrong computations of nodes, and corruption of bits that no client
// reads. The other nodes find them out, or an operator does.
#include <algorithm>

#include "tests/simulation/faults.h"

namespace kamino::simulation {

// One member at a time, in a healthy chain, with no other fault at the time:
// one against two, or against one.
bool Faults::Err() {
  const membership::View view = cluster_->StoredView();
  if (view.members.size() < 2 || operator_.busy() ||
      cuts_until_ > world_->now()) {
    return false;
  }
  for (const membership::Member& member : view.members) {
    const SimNode& node = *cluster_->node(member.node_id);
    if (node.has_erred() || node.errs_next() || !node.up() || node.doomed() ||
        node.incarnation() != member.incarnation) {
      return false;
    }
  }
  SimNode* const node =
      cluster_->node(view.members[random_.Pick(view.members.size())].node_id);
  if (!MayLose(*node)) return false;
  for (const auto& [name, until] : disturbed_) {
    if (until > world_->now()) return false;
  }
  Disturb(node->name(), absl::Seconds(3));
  node->ErrNext();
  LookAfter(node);
  return true;
}

// Acts as an operator: where fewer than three members are there, or are left
// meanwhile, the nodes cannot tell which of them erred, and the chain waits.
// The simulation knows which node it is.
void Faults::LookAfter(SimNode* node) {
  world_->After(absl::Seconds(2), [this, node] {
    node->ErrNext(false);
    if (!node->has_erred()) return;
    if (operator_.Wants(node->name())) return LookAfter(node);
    operator_.TakeOut(
        node->name(), Operator::Removal::kForced,
        [this, node] { Repair(node); }, /*insists=*/true);
    LookAfter(node);
  });
}

// Removes a node that may have rolled back to wrong data, if the members' data
// differs.
void Faults::TakeOutDifferent(SimNode* node) {
  world_->After(absl::Seconds(2), [this, node] {
    if (!node->may_differ()) return;
    const bool damage_suspected = std::any_of(
        cluster_->nodes().begin(), cluster_->nodes().end(),
        [](const auto& each) {
          return each->has_core() &&
                 !each->node()->core().soundness().no_damage_suspected();
        });
    if (damage_suspected && !operator_.Wants(node->name())) {
      operator_.TakeOut(
          node->name(), Operator::Removal::kForced,
          [this, node] { Repair(node); }, /*insists=*/true);
    }
    TakeOutDifferent(node);
  });
}

// The node is out of the chain: its machine is exchanged, with its disk or
// without. Its data is of no use in either case.
void Faults::Repair(SimNode* node) {
  world_->trace().Line(world_->now(), node->name(), "is repaired");
  if (random_.OneIn(2)) {
    if (node->up()) node->Die(Crash::kProcess);
    node->LoseDisk();
    node->Start();
  }
  node->Forgive();
  operator_.Add(node->name());
}

bool Faults::AnyNodeDecays() const {
  if (!decays_ || only_decayed_are_left_) return false;
  bool some = false;
  for (const auto& node : cluster_->nodes()) some |= node->decayed();
  return some;
}

// While a member that holds the written data is left.
void Faults::StrikeLightly() {
  if (random_.OneIn(2)) return Kill();
  world_->trace().Line(world_->now(), "-----", "links break");
  cluster_->network().BreakLinks(20 + random_.Pick(81));
}

// One member of a healthy chain, as in Err.
bool Faults::Decay() {
  const membership::View view = cluster_->StoredView();
  if (view.members.size() < 2 || operator_.busy() ||
      cuts_until_ > world_->now() || only_decayed_are_left_ ||
      cluster_->options().scrub_bytes_per_s == 0) {
    return false;
  }
  for (const membership::Member& member : view.members) {
    const SimNode& node = *cluster_->node(member.node_id);
    if (!node.up() || node.doomed() ||
        node.incarnation() != member.incarnation ||
        node.node()->core().soundness().condition() !=
            membership::Condition::kSound) {
      return false;
    }
  }
  for (const auto& [name, until] : unsettled_) {
    if (until > world_->now()) return false;
  }
  SimNode* const node =
      cluster_->node(view.members[random_.Pick(view.members.size())].node_id);
  if (!MayLose(*node)) return false;
  const bool first = !decays_;
  decays_ = true;
  node->Decay();
  world_->tally().Count(view.members.size() == 2 ? Kind::kDecayOfTwo
                                                 : Kind::kDecay);
  if (first) {
    TakeOutDecayed();
    WatchDecayed();
  }
  return true;
}

// The chain may come down to the corrupt node, as links break, or to it and
// copies of it that confirm each other. All nodes that join then have its data,
// and no node can detect that (docs/design/fault_model.md).
void Faults::WatchDecayed() {
  world_->After(absl::Milliseconds(50), [this] {
    const membership::View view = cluster_->StoredView();
    const bool alone = view.members.size() == 1;
    only_decayed_are_left_ = std::all_of(
        view.members.begin(), view.members.end(),
        [&](const membership::Member& member) {
          SimNode* const node = cluster_->node(member.node_id);
          const bool damage_suspected =
              !node->has_core() ||
              !node->node()->core().soundness().no_damage_suspected();
          return node->decayed() && (alone || !damage_suspected);
        });
    if (!only_decayed_are_left_) WatchDecayed();
  });
}

// Whether another member holds the written data, as an operator finds out.
bool Faults::OthersHold(const SimNode& node) const {
  for (const membership::Member& member : cluster_->StoredView().members) {
    SimNode* const other = cluster_->node(member.node_id);
    if (other != &node && other->up() &&
        other->incarnation() == member.incarnation &&
        other->node()->core().soundness().condition() ==
            membership::Condition::kSound &&
        !other->decayed()) {
      return true;
    }
  }
  return false;
}

// Acts as an operator where the nodes cannot tell which of them is right.
void Faults::TakeOutDecayed() {
  world_->After(absl::Seconds(2), [this] {
    bool damage_suspected = false;
    for (const auto& node : cluster_->nodes()) {
      damage_suspected |=
          node->up() && !node->node()->core().soundness().no_damage_suspected();
    }
    SimNode* const wrong = damage_suspected ? WrongMember() : nullptr;
    if (wrong != nullptr && !operator_.busy()) {
      operator_.TakeOut(wrong->name(), Operator::Removal::kForced,
                        [this, wrong] { Repair(wrong); });
    }
    // Also while the nodes that hold the data are outside: they may return with
    // it.
    TakeOutDecayed();
  });
}

// The member that an operator removes, so that the others agree; null: none. If
// all members are corrupt in different ways, the operator removes the head: the
// other members are copies of one node.
SimNode* Faults::WrongMember() const {
  const membership::View view = cluster_->StoredView();
  if (only_decayed_are_left_ && view.members.size() > 1) {
    return cluster_->node(view.head().node_id);
  }
  for (const auto& node : cluster_->nodes()) {
    if (node->decayed() && OthersHold(*node)) return node.get();
  }
  return nullptr;
}

}  // namespace kamino::simulation
