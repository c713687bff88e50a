// Faults: those of managers and etcd.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/faults.h"

namespace kamino::simulation {

void Faults::StrikeManager() {
  auto& managers = cluster_->managers();
  SimManager* const manager = managers[random_.Pick(managers.size())].get();
  if (!manager->up()) return;
  if (random_.OneIn(2)) return manager->Pause(Between(10, 2500));
  manager->Kill();
  After(Between(10, 1500), [manager] {
    if (!manager->up()) manager->Start();
  });
}

void Faults::StrikeEtcd() {
  SimEtcd& etcd = cluster_->etcd();
  if (!etcd.up()) return;
  if (random_.OneIn(2)) return etcd.Pause(Between(10, 1500));
  etcd.Stop();
  After(Between(10, 2500), [&etcd] {
    if (!etcd.up()) etcd.Start();
  });
}

// The leader stays with a member of etcd that lost leadership, and an end of
// the chain stays with the leader; the other nodes look for another manager.
void Faults::DeposeEtcdMember() {
  std::string leader;
  for (const auto& manager : cluster_->managers()) {
    if (manager->leads()) leader = manager->name();
  }
  if (leader.empty() || !cluster_->LastView().formed()) return;
  const SimNode* const stays = AnEnd();
  std::vector<std::string> others;
  for (const auto& node : cluster_->nodes()) {
    if (node.get() != stays) others.push_back(node->name());
  }
  const absl::Duration time = Between(2000, 4000);
  // Until another manager may lead, and these nodes find it: a leader that
  // misses them would soon ask etcd for another view, and learn that it lost
  // leadership.
  const absl::Duration together = Between(0, 1900);
  world_->trace().Line(world_->now(), "-----", leader, " and ", stays->name(),
                       " stay with a deposed member of etcd for ",
                       absl::FormatDuration(time));
  cluster_->etcd().DeposeMember({leader}, time);
  // The leader may expel them before they find another one.
  for (const std::string& other : others) Disturb(other, time);
  const bool both_ways = random_.OneIn(2);
  cuts_until_ = std::max(cuts_until_, world_->now() + time);
  After(together,
        [this, stays, others, leader, both_ways, time = time - together] {
          Unsettle(stays->name(), time);
          left_alone_ = stays->name();
          Cut(others, {leader}, time);
          if (both_ways) Cut({leader}, others, time);
        });
}

// Nodes renew each other's leases then. One end of the chain is expelled; the
// others hear of that while their last renewal of its lease may still be valid.
void Faults::HideManagers() {
  std::vector<std::string> managers;
  for (const auto& manager : cluster_->managers()) {
    managers.push_back(manager->name());
  }
  const SimNode* const stays = AnEnd();
  world_->trace().Line(world_->now(), "-----",
                       "no manager is within reach, for long of ",
                       stays->name());
  for (const auto& node : cluster_->nodes()) {
    const absl::Duration time =
        node.get() == stays ? Between(400, 2500) : Between(50, 400);
    Unsettle(node->name(), time);
    Cut({node->name()}, managers, time);
    Cut(managers, {node->name()}, time);
  }
}

void Faults::PutBackStore() {
  SimEtcd& etcd = cluster_->etcd();
  const SimEtcd::Copy copy =
      random_.OneIn(4) ? SimEtcd::Copy() : etcd.TakeCopy();
  After(Between(50, 1500), [this, &etcd, copy] {
    if (!etcd.up()) return;
    etcd.Stop();
    etcd.PutBack(copy);
    After(Between(10, 800), [&etcd] {
      if (!etcd.up()) etcd.Start();
    });
  });
}

void Faults::TalkNonsense() {
  for (const auto& manager : cluster_->managers()) {
    manager->HearNonsense(&nonsense_);
  }
  After(absl::Milliseconds(150), [this] { TalkNonsense(); });
}

// A view may have a single member, when the others stopped as planned: a
// recovery by force without that one loses what it acknowledged since.
bool Faults::HearsAll(const SimManager& manager) const {
  const auto& nodes = cluster_->nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node->up() && manager.Hears(node->name(), node->incarnation());
  });
}

void Faults::Operate() {
  for (const auto& manager : cluster_->managers()) {
    // After a long wait an operator accepts the nodes there are, once all are
    // started.
    const bool insists = random_.OneIn(30);
    manager->Recover(/*force=*/insists && HearsAll(*manager));
  }
  world_->After(absl::Milliseconds(100), [this] { Operate(); });
}

}  // namespace kamino::simulation
