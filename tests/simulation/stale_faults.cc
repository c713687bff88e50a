// Faults: old copies of the files of all nodes at once.
#include <algorithm>
#include <memory>
#include <utility>

#include "tests/simulation/faults.h"

namespace kamino::simulation {

void Faults::PutBackAll() {
  auto copies = std::make_shared<std::map<std::string, SimNode::Copy>>();
  for (const auto& node : cluster_->nodes()) {
    if (!node->up()) return;
    SimNode::Copy copy = node->TakeCopy();
    if (copy.receiving) return;
    copies->emplace(node->name(), std::move(copy));
  }
  After(Between(400, 2000), [this, copies] {
    if (!all_are_old_) PutBackAll(*copies);
  });
}

// Only copies that are older than the managers' stored numbers: no process
// could detect the others.
void Faults::PutBackAll(const std::map<std::string, SimNode::Copy>& copies) {
  for (const auto& node : cluster_->nodes()) {
    const auto disturbed = disturbed_.find(node->name());
    const bool settled =
        disturbed == disturbed_.end() || disturbed->second < world_->now();
    if (!node->up() || node->doomed() || !settled) return;
    if (copies.at(node->name()).applied >= cluster_->StoredAcknowledged()) {
      return;
    }
  }
  const membership::View view = cluster_->StoredView();
  for (const membership::Member& member : view.members) {
    const SimNode& node = *cluster_->node(member.node_id);
    if (node.incarnation() != member.incarnation ||
        node.node()->core().soundness().condition() !=
            membership::Condition::kSound) {
      return;
    }
  }
  all_are_old_ = true;
  world_->trace().Line(world_->now(), "-----",
                       "all nodes are put back to older copies");
  for (const auto& manager : cluster_->managers()) {
    if (manager->up()) manager->Kill();
    world_->After(Between(10, 800), [manager = manager.get()] {
      if (!manager->up()) manager->Start();
    });
  }
  auto newest = std::make_shared<std::map<std::string, SimNode::Copy>>();
  for (const auto& node : cluster_->nodes()) {
    node->Die(random_.OneIn(2) ? Crash::kPower : Crash::kProcess);
    newest->emplace(node->name(), node->TakeCopyOfDisk());
    node->PutBack(copies.at(node->name()));
    Disturb(node->name(), absl::Seconds(6));
    world_->After(Between(5, 1000), [node = node.get()] {
      if (!node->up()) node->Start();
    });
  }
  world_->After(Between(1500, 3000),
                [this, newest] { PutNewestBack(*newest); });
}

// All nodes, or all but one: then two of the last view hold everything.
void Faults::PutNewestBack(const std::map<std::string, SimNode::Copy>& newest) {
  const membership::View view = cluster_->StoredView();
  std::string stays_old;
  if (view.members.size() > 2 && random_.OneIn(2)) {
    stays_old = view.members[random_.Pick(view.members.size())].node_id;
  }
  for (const auto& node : cluster_->nodes()) {
    if (node->name() == stays_old) continue;
    node->Die(Crash::kProcess);
    node->PutBack(newest.at(node->name()));
    node->Start();
  }
  world_->After(absl::Seconds(3), [this] { all_are_old_ = false; });
}

}  // namespace kamino::simulation
