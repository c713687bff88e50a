// Faults: processes that die and restart.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/simulation/faults.h"

namespace kamino::simulation {

void Faults::Doom(SimNode* node, Crash crash, uint64_t most_drains) {
  node->DieAtDrain(1 + random_.Pick(most_drains), crash,
                   [this, node] { return MayDie(*node); });
}

void Faults::Restart(SimNode* node, absl::Duration time) {
  After(time, [this, node] {
    if (node->up()) {
      // It has not reached that drain yet.
      if (node->doomed()) Restart(node, absl::Milliseconds(50));
      return;
    }
    if (random_.OneIn(4)) {
      // Again while it recovers, or soon after.
      Doom(node, Crash::kPower, 30);
    }
    node->Start();
    Unsettle(node->name(), absl::ZeroDuration());
    if (!node->up() || node->doomed()) Restart(node, Between(5, 300));
  });
}

// The second is head when it returns, and may have to repair a torn heap.
void Faults::KillHeads() {
  const membership::View view = cluster_->LastView();
  if (view.members.size() < (NodesRepairLocally() ? 2 : 3)) return;
  SimNode* const head = cluster_->node(view.members[0].node_id);
  SimNode* const next = cluster_->node(view.members[1].node_id);
  for (SimNode* node : {head, next}) {
    if (!node->up() || node->doomed() || !MayDie(*node)) return;
  }
  for (SimNode* node : {head, next}) {
    Disturb(node->name(), absl::Seconds(1000));
    Doom(node, Crash::kPower, 12);
  }
  Restart(next, Between(5, 150));
  Restart(head, Between(400, 1500));
}

// Stops one member as planned, or some of them, or all; at once, or shortly
// after one another. They are started again soon, or later, or after they lost
// their places.
void Faults::StopSome() {
  const uint64_t kind = random_.Pick(10);
  std::vector<SimNode*> told;
  for (const auto& node : cluster_->nodes()) told.push_back(node.get());
  std::rotate(told.begin(), told.begin() + random_.Pick(told.size()),
              told.end());
  if (kind < 6) told.resize(1);
  if (kind == 6 || kind == 7) told.resize(std::min<size_t>(told.size(), 2));
  if (told.size() == cluster_->nodes().size()) {
    world_->trace().Line(world_->now(), "-----", "all are told to end");
    world_->tally().Count(Kind::kStopOfAll);
  }
  const bool at_once = random_.OneIn(2);
  const bool soon = random_.OneIn(2);
  for (SimNode* node : told) {
    if (!node->up() || node->doomed() || !MayDie(*node)) continue;
    const absl::Duration down = soon               ? Between(5, 150)
                                : random_.OneIn(4) ? Between(3000, 4500)
                                                   : Between(400, 1500);
    const absl::Duration wait = at_once ? Between(0, 3) : Between(0, 600);
    Disturb(node->name(), wait + down + absl::Seconds(6));
    After(wait, [this, node, down] { StopInOrder(node, down); });
  }
}

void Faults::StopInOrder(SimNode* node, absl::Duration down) {
  if (!node->up() || node->doomed() || !MayDie(*node)) return;
  world_->tally().Count(Kind::kStop);
  // It may be killed during the stop, or told a second time.
  if (random_.OneIn(5)) Doom(node, Crash::kPower, 30);
  node->StopInOrder(nullptr);
  if (random_.OneIn(6)) {
    After(Between(0, 60), [node] {
      if (node->stopping()) node->StopInOrder(nullptr);
    });
  }
  if (random_.OneIn(3)) CutOnceSurrendered(node);
  AwaitStop(node, down);
}

// It does not hear that the chain continues without it, while others reach it.
void Faults::CutOnceSurrendered(SimNode* node) {
  After(absl::Microseconds(200), [this, node] {
    if (!node->stopping()) return;
    if (!node->has_surrendered()) return CutOnceSurrendered(node);
    std::vector<std::string> managers;
    for (const auto& manager : cluster_->managers()) {
      managers.push_back(manager->name());
    }
    std::vector<std::string> nodes;
    for (const auto& other : cluster_->nodes()) {
      if (other.get() != node) nodes.push_back(other->name());
    }
    const absl::Duration time = Between(100, 1500);
    Cut(managers, {node->name()}, time);
    Cut(nodes, {node->name()}, time);
  });
}

void Faults::AwaitStop(SimNode* node, absl::Duration down) {
  After(absl::Milliseconds(20), [this, node, down] {
    if (!node->up()) {
      Disturb(node->name(), down + absl::Seconds(2));
      return Restart(node, down);
    }
    // Otherwise its supervisor restarted it.
    if (node->stopping()) AwaitStop(node, down);
  });
}

void Faults::PowerCut() {
  world_->trace().Line(world_->now(), "-----", "the power is cut");
  std::vector<SimNode*> dying;  // at once
  for (const auto& node : cluster_->nodes()) {
    if (!node->up() || !MayDie(*node)) continue;
    dying.push_back(node.get());
  }
  SimNode* const survivor = DrawSurvivor(dying);
  const bool all_lost = survivor != nullptr && random_.OneIn(3);
  for (SimNode* node : dying) {
    node->Die(Crash::kPower);
    const bool waits = survivor != nullptr && node != survivor;
    Disturb(node->name(), absl::Seconds(waits ? 6 : 3));
    Restart(node, waits              ? Between(1500, 3500)
                  : node == survivor ? Between(5, 150)
                                     : Between(5, 1000));
  }
  if (survivor == nullptr) return;
  // If a view has left the survivor out, these would be all its members.
  After(absl::Milliseconds(1200), [this, survivor, dying, all_lost] {
    const membership::View view = cluster_->LastView();
    if (!all_lost || !survivor->up() ||
        view.IndexOf(survivor->name(), survivor->incarnation()) < 0) {
      return;
    }
    for (SimNode* node : dying) {
      if (node != survivor && !node->up()) node->LoseDisk();
    }
  });
  After(Between(1300, 1500), [this, survivor] {
    if (survivor->up() && survivor->serves_alone()) {
      world_->tally().Count(Kind::kSurvivor);
    }
  });
}

SimNode* Faults::DrawSurvivor(const std::vector<SimNode*>& dying) {
  if (!NodesRepairLocally() || AnyNodeIsOld() || random_.OneIn(2)) {
    return nullptr;
  }
  const membership::View view = cluster_->LastView();
  std::vector<SimNode*> holding;  // everything, by their own report
  for (const membership::Member& member : view.members) {
    SimNode* const node = cluster_->node(member.node_id);
    const bool dies =
        std::find(dying.begin(), dying.end(), node) != dying.end();
    if (!dies) return nullptr;
    if (node->incarnation() == member.incarnation &&
        node->node()->core().soundness().condition() ==
            membership::Condition::kSound) {
      holding.push_back(node);
    }
  }
  return holding.empty() ? nullptr : holding[random_.Pick(holding.size())];
}

// Several nodes and managers die and start again and again, for a few failure
// timeouts.
void Faults::Storm() {
  const absl::Time until = world_->now() + Between(300, 1200);
  const Churning how = random_.OneIn(3)   ? Churning::kProcesses
                       : random_.OneIn(2) ? Churning::kMachines
                                          : Churning::kBoth;
  world_->trace().Line(world_->now(), "-----", "a storm of restarts");
  world_->tally().Count(Kind::kStorm);
  const uint64_t spared = random_.Pick(cluster_->nodes().size());
  for (size_t i = 0; i < cluster_->nodes().size(); ++i) {
    if (i != spared || random_.OneIn(2)) {
      Churn(cluster_->nodes()[i].get(), until, how);
    }
  }
  for (const auto& manager : cluster_->managers()) {
    if (random_.OneIn(2)) ChurnManager(manager.get(), until);
  }
}

void Faults::Churn(SimNode* node, absl::Time until, Churning how) {
  After(node->up() ? Between(1, 200) : Between(1, 120), [=, this] {
    if (world_->now() > until) return Restart(node, Between(5, 150));
    if (!node->up()) {
      node->Start();
      Unsettle(node->name(), absl::ZeroDuration());
    } else if (!node->doomed() && MayDie(*node)) {
      const bool power = how == Churning::kMachines ||
                         (how == Churning::kBoth && random_.OneIn(2));
      const Crash crash = power ? Crash::kPower : Crash::kProcess;
      Disturb(node->name(), until - world_->now() + absl::Seconds(3));
      if (random_.OneIn(3)) {
        Doom(node, crash, 30);
      } else {
        node->Die(crash);
      }
    }
    Churn(node, until, how);
  });
}

void Faults::ChurnManager(SimManager* manager, absl::Time until) {
  After(Between(5, 300), [=, this] {
    if (!manager->up()) {
      manager->Start();
    } else if (world_->now() < until) {
      manager->Kill();
    } else {
      return;
    }
    ChurnManager(manager, until);
  });
}

}  // namespace kamino::simulation
