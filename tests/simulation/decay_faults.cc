// Bits that change where nobody looks.
#include "tests/simulation/faults.h"

namespace kamino::simulation {

bool Faults::SomebodyDecays() const {
  if (!decays_) return false;
  bool some = false;
  for (const auto& node : cluster_->nodes()) some |= node->decayed();
  return some;
}

// As long as one that holds what was written is left.
void Faults::StrikeLightly() {
  if (random_.OneIn(2)) return Kill();
  world_->trace().Line(world_->now(), "-----", "links break");
  cluster_->network().BreakLinks(20 + random_.Pick(81));
}

// One member of three or more that are well, as in Err.
void Faults::Decay() {
  const membership::View view = cluster_->StoredView();
  if (view.members.size() < 3 || cluster_->options().scrub_bytes_per_s == 0) {
    return;
  }
  for (const membership::Member& member : view.members) {
    const SimNode& node = *cluster_->node(member.node_id);
    if (!node.up() || node.doomed() ||
        node.incarnation() != member.incarnation ||
        node.node()->core().condition() != membership::Condition::kSound) {
      return;
    }
  }
  for (const auto& [name, until] : unsettled_) {
    if (until > world_->now()) return;
  }
  SimNode* const node =
      cluster_->node(view.members[random_.Pick(view.members.size())].node_id);
  if (!MayLose(*node)) return;
  decays_ = true;
  node->Decay();
  TakeOutDecayed();
}

// Another member holds what was written, as an operator finds out.
bool Faults::OthersHold(const SimNode& node) const {
  for (const membership::Member& member : cluster_->StoredView().members) {
    SimNode* const other = cluster_->node(member.node_id);
    if (other != &node && other->up() &&
        other->incarnation() == member.incarnation &&
        other->node()->core().condition() == membership::Condition::kSound &&
        !other->decayed()) {
      return true;
    }
  }
  return false;
}

// An operator: where nobody can tell who is right.
void Faults::TakeOutDecayed() {
  world_->After(absl::Seconds(2), [this] {
    bool in_doubt = false;
    for (const auto& node : cluster_->nodes()) {
      in_doubt |= node->up() && !node->node()->core().beyond_doubt();
    }
    for (const auto& node : cluster_->nodes()) {
      if (!node->decayed() || !in_doubt || !OthersHold(*node)) continue;
      world_->trace().Line(world_->now(), node->name(), "is taken out");
      node->Die(Crash::kProcess);
      node->LoseDisk();
      node->Start();
      break;
    }
    if (SomebodyDecays() || in_doubt) TakeOutDecayed();
  });
}

}  // namespace kamino::simulation
