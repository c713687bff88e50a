#include "tests/simulation/faults.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "tests/simulation/damage.h"

namespace kamino::simulation {
namespace {

// After a disturbance the manager needs a while to hear from a node again.
constexpr absl::Duration kRecovery = absl::Milliseconds(700);

}  // namespace

FaultPlan FaultPlan::Draw(Scenario scenario, Random* random) {
  FaultPlan plan;
  plan.interval =
      random->Between(absl::Milliseconds(100), absl::Milliseconds(900));
  // Each kind occurs in some runs only, so that kinds do not hide each other.
  for (int* weight : {&plan.kills, &plan.pauses, &plan.cuts, &plan.broken_links,
                      &plan.slowness, &plan.managers, &plan.etcd}) {
    if (random->Percent(45)) *weight = 1 + static_cast<int>(random->Pick(4));
  }
  plan.restarts = random->Percent(85);
  if (plan.restarts && random->Percent(25)) plan.power_cuts = 1;
  if (plan.restarts && random->Percent(30)) plan.lost_disks = 1;
  if (plan.restarts && random->Percent(20)) plan.old_copies = 3;
  if (plan.restarts && random->Percent(20)) plan.mixed_files = 2;
  if (plan.restarts && random->Percent(25)) plan.errors = 3;
  if (plan.restarts && random->Percent(20)) plan.rot = 3;
  if (random->Percent(40)) plan.damaged_one_in = 2 + random->Pick(10);
  if (random->Percent(20)) plan.damaged_entries_one_in = 5 + random->Pick(200);
  switch (scenario) {
    case Scenario::kAny:
      if (random->Percent(10)) plan.stale_ends = 2;
      if (random->Percent(15)) plan.deposed = 3;
      if (random->Percent(15)) plan.hidden = 3;
      if (plan.restarts && random->Percent(30)) plan.heads = 3;
      break;
    case Scenario::kStaleEnds:
      plan.stale_ends = 8;
      plan.managers = plan.etcd = 0;
      if (random->OneIn(2)) plan.deposed = 8;
      if (random->OneIn(2)) plan.hidden = 16;
      break;
    case Scenario::kShortChain:
      plan.restarts = true;
      plan.kills += 2;
      plan.lost_disks += 4;
      break;
    case Scenario::kOldCopies:
      plan.restarts = true;
      plan.old_copies = 12;
      plan.mixed_files = 4;
      plan.interval =
          random->Between(absl::Milliseconds(50), absl::Milliseconds(200));
      plan.managers = plan.etcd = plan.lost_disks = 0;
      break;
    case Scenario::kLeaders:
      plan.kills = plan.power_cuts = plan.lost_disks = plan.old_copies = 0;
      plan.managers = 2;
      plan.etcd = 2;
      plan.stale_ends = 3;
      plan.deposed = 8;
      plan.hidden = 4;
      break;
    case Scenario::kOldStore:
      // Nodes that know more than the store are up, except one or two.
      plan.restarts = true;
      plan.kills = 2;
      plan.pauses = 4;
      plan.cuts = plan.power_cuts = plan.lost_disks = plan.old_copies = 0;
      plan.managers = 1;
      plan.etcd = 1;
      plan.old_stores = 5;
      break;
    case Scenario::kAllOld:
      plan = {};
      plan.restarts = true;
      plan.kills = 1;
      plan.pauses = 1;
      plan.managers = 1;
      plan.all_old = 4;
      return plan;
  }
  if (plan.restarts && plan.errors == 0 && scenario != Scenario::kOldStore &&
      random->Percent(40)) {
    plan.decay = 6;
  }
  if (plan.restarts && random->Percent(25)) plan.storms = 3;
  if (plan.restarts && scenario != Scenario::kOldStore && random->Percent(25)) {
    plan.operators = 4;
  }
  // Two other members tell which one erred.
  if (plan.restarts && plan.errors == 0 && random->Percent(20)) {
    plan.crashing = 2;
  }
  if (plan.restarts && random->Percent(35)) {
    plan.stops = 2 + static_cast<int>(random->Pick(6));
  }
  return plan;
}

Faults::Faults(Cluster* cluster, const FaultPlan& plan)
    : cluster_(cluster),
      world_(cluster->world()),
      plan_(plan),
      operator_(cluster),
      random_(world_->random().Fork()),
      nonsense_(random_),
      releases_(cluster->options().unequal) {}

void Faults::Start() {
  if (plan_.old_stores > 0) Operate();
  TalkNonsense();
  if (cluster_->options().unequal != 0) FinalizeLater();
  if (plan_.damaged_one_in > 0 || plan_.damaged_entries_one_in > 0) {
    cluster_->network().SetFilter(DamagesMessages(
        world_, plan_.damaged_one_in, plan_.damaged_entries_one_in));
  }
  Next();
}

void Faults::After(absl::Duration time, std::function<void()> event) {
  world_->After(time, [this, event = std::move(event)] {
    if (!stopped_) event();
  });
}

void Faults::Next() {
  After(random_.Between(absl::ZeroDuration(), plan_.interval * 2), [this] {
    Strike();
    Next();
  });
}

bool Faults::AnyNodeErrs() const {
  for (const auto& node : cluster_->nodes()) {
    if (node->errs_next() || node->has_erred()) return true;
  }
  return false;
}

void Faults::Strike() {
  // No other fault may hit the two that tell: all three would be lost.
  if (AnyNodeErrs() || all_are_old_) return;
  if (AnyNodeDecays()) return StrikeLightly();
  // Once all nodes are well; until then no other fault strikes.
  if (due_ != nullptr) {
    if ((this->*due_)()) due_ = nullptr;
    return;
  }
  const std::vector<std::pair<int, std::function<void()>>> kinds = {
      {plan_.kills, [this] { Kill(); }},
      {plan_.heads, [this] { KillHeads(); }},
      {plan_.stops, [this] { StopSome(); }},
      {plan_.power_cuts, [this] { PowerCut(); }},
      {plan_.lost_disks, [this] { LoseDisk(); }},
      {plan_.old_copies, [this] { PutBackCopy(); }},
      {plan_.all_old, [this] { PutBackAll(); }},
      {plan_.mixed_files, [this] { MixFiles(); }},
      {plan_.errors, [this] { due_ = &Faults::Err; }},
      {plan_.rot, [this] { Rot(); }},
      {plan_.decay, [this] { due_ = &Faults::Decay; }},
      {plan_.crashing, [this] { SendCrashing(); }},
      {plan_.storms, [this] { Storm(); }},
      {plan_.operators, [this] { ChangeMembers(); }},
      {plan_.pauses, [this] { Pause(); }},
      {plan_.cuts, [this] { CutSome(); }},
      {plan_.broken_links,
       [this] {
         world_->trace().Line(world_->now(), "-----", "links break");
         cluster_->network().BreakLinks(20 + random_.Pick(81));
       }},
      {plan_.slowness, [this] { Slow(); }},
      {plan_.stale_ends, [this] { LeaveBehind(); }},
      {plan_.managers, [this] { StrikeManager(); }},
      {plan_.etcd, [this] { StrikeEtcd(); }},
      {plan_.old_stores, [this] { PutBackStore(); }},
      {plan_.hidden, [this] { HideManagers(); }},
      {plan_.deposed, [this] { DeposeEtcdMember(); }}};
  int all = 0;
  for (const auto& [weight, kind] : kinds) all += weight;
  if (all == 0) return;
  int chosen = static_cast<int>(random_.Pick(all));
  for (const auto& [weight, kind] : kinds) {
    chosen -= weight;
    if (chosen >= 0) continue;
    ++struck_;
    return kind();
  }
}

void Faults::Stop() {
  stopped_ = true;
  world_->trace().Line(world_->now(), "-----", "faults stop");
  cluster_->network().HealAll();
  cluster_->network().SetFilter(nullptr);
  if (!cluster_->etcd().up()) cluster_->etcd().Start();
  for (const auto& manager : cluster_->managers()) {
    if (!manager->up()) manager->Start();
  }
  for (const auto& node : cluster_->nodes()) {
    node->DieAtDrain(0, Crash::kProcess, nullptr);
    node->StartOnceEnded();
    if (plan_.restarts && !node->up()) node->Start();
  }
  operator_.Finish();
}

// --- Nodes.

SimNode* Faults::AnyNode() {
  return cluster_->nodes()[random_.Pick(cluster_->nodes().size())].get();
}

void Faults::Disturb(const std::string& name, absl::Duration time) {
  absl::Time& until =
      disturbed_.emplace(name, absl::InfinitePast()).first->second;
  until = std::max(until, world_->now() + time + kRecovery);
}

void Faults::Unsettle(const std::string& name, absl::Duration time) {
  absl::Time& until =
      unsettled_.emplace(name, absl::InfinitePast()).first->second;
  until = std::max(until, world_->now() + time + kRecovery);
  Disturb(name, time);
}

bool Faults::MayDie(const SimNode& node) const {
  // Two of three members must tell which one erred.
  for (const auto& each : cluster_->nodes()) {
    if (each->has_erred()) return false;
  }
  if (AnyNodeDecays() && !MayLose(node)) return false;
  // A node that returns with its data is never lost for good.
  return (plan_.restarts || MayLose(node)) && MayTear(node);
}

bool Faults::NodesRepairLocally() const {
  return RepairsAlone(cluster_->options().mode);
}

bool Faults::MayTear(const SimNode& node) const {
  if (NodesRepairLocally()) return !AnyNodeIsOld() || MayLose(node);
  const membership::View view = cluster_->LastView();
  // A view without the others may be on its way.
  if (view.members.size() > 2) {
    const auto unsettled = unsettled_.find(node.name());
    return node.name() != left_alone_ || unsettled == unsettled_.end() ||
           unsettled->second < world_->now();
  }
  bool member = false;
  for (const membership::Member& each : view.members) {
    const SimNode& other = *cluster_->node(each.node_id);
    if (&other == &node) {
      member = true;
      continue;
    }
    const auto unsettled = unsettled_.find(other.name());
    if (other.up() && other.incarnation() == each.incarnation &&
        !operator_.Wants(other.name()) &&
        (unsettled == unsettled_.end() || unsettled->second < world_->now())) {
      return true;
    }
  }
  // As head it rolls back by itself.
  const SimNode* alone = cluster_->node(node.name());
  return !member || (view.members.size() == 1 && alone->serves_alone());
}

bool Faults::AnyNodeIsOld() const {
  for (const auto& node : cluster_->nodes()) {
    if (node->put_back()) return true;
  }
  return false;
}

bool Faults::MayLose(const SimNode& node) const {
  const membership::View view = cluster_->LastView();
  for (const membership::Member& member : view.members) {
    if (member.node_id == node.name()) continue;
    SimNode* const other = cluster_->node(member.node_id);
    const auto disturbed = disturbed_.find(other->name());
    if (other->up() && other->incarnation() == member.incarnation &&
        other->node()->core().soundness().condition() ==
            membership::Condition::kSound &&
        !other->decayed() && !operator_.Wants(other->name()) &&
        (disturbed == disturbed_.end() || disturbed->second < world_->now())) {
      return true;
    }
  }
  return false;
}

void Faults::Kill() {
  SimNode* const node = AnyNode();
  if (!node->up() || node->doomed() || !MayDie(*node)) return;
  const Crash crash = random_.OneIn(2) ? Crash::kPower : Crash::kProcess;
  Disturb(node->name(), absl::Seconds(1000));
  if (random_.OneIn(3)) {
    node->Die(crash);
  } else {
    Doom(node, crash, random_.OneIn(2) ? 12 : 120);
  }
  if (!plan_.restarts) return;
  Restart(node, random_.OneIn(2) ? Between(5, 150) : Between(400, 1500));
}

void Faults::LoseDisk() {
  SimNode* const node = AnyNode();
  if (!node->up() || !MayLose(*node)) return;
  node->Die(Crash::kPower);
  node->LoseDisk();
  world_->trace().Line(world_->now(), node->name(), "has lost its disk");
  Disturb(node->name(), absl::Seconds(3));
  Restart(node, Between(5, 1000));
}

// A copy of a node's files takes their place later in the same view.
void Faults::PutBackCopy() {
  SimNode* const node = AnyNode();
  if (!node->up()) return;
  auto copy = std::make_shared<const SimNode::Copy>(node->TakeCopy());
  // If the copy is younger than a heartbeat, only the neighbours can tell that
  // it is old.
  const absl::Duration age =
      random_.OneIn(3) ? Between(20, 1500) : Between(1, 60);
  After(age, [this, node, copy] {
    if (!node->up() || node->doomed() || !node->IsOf(*copy)) return;
    if (MayLose(*node) && MayDie(*node)) PutBack(node, *copy);
  });
}

void Faults::PutBack(SimNode* node, const SimNode::Copy& copy) {
  std::vector<SimNode*> dying = {node};
  // At times all nodes at once: two of those that hold everything return. Where
  // the first that returns suffices, only if it can be known to be old.
  const size_t members = cluster_->LastView().members.size();
  const bool is_known =
      !NodesRepairLocally() || copy.applied < cluster_->StoredAcknowledged();
  if (members > 2 && is_known && random_.OneIn(2)) {
    for (const auto& other : cluster_->nodes()) {
      if (other.get() == node) continue;
      const auto disturbed = disturbed_.find(other->name());
      const bool settled =
          disturbed == disturbed_.end() || disturbed->second < world_->now();
      if (!other->up() || other->doomed() || !settled) {
        dying = {node};
        break;
      }
      dying.push_back(other.get());
    }
  }
  for (SimNode* each : dying) {
    each->Die(random_.OneIn(2) ? Crash::kPower : Crash::kProcess);
    Disturb(each->name(), absl::Seconds(dying.size() > 1 ? 3 : 1));
    Restart(each, random_.OneIn(2) ? Between(5, 150) : Between(5, 1000));
  }
  node->PutBack(copy);
}

// Copies of some of a node's files take their place later, perhaps from an
// earlier life of the node.
void Faults::MixFiles() {
  SimNode* const node = AnyNode();
  if (!node->up()) return;
  auto copy = std::make_shared<const SimNode::Copy>(node->TakeCopy());
  After(random_.OneIn(2) ? Between(20, 3000) : Between(1, 60),
        [this, node, copy] {
          if (!node->up() || node->doomed()) return;
          // The node's present files may be the older ones of the two.
          if (node->put_back()) return;
          if (!MayLose(*node) || !MayDie(*node)) return;
          node->Die(random_.OneIn(2) ? Crash::kPower : Crash::kProcess);
          Disturb(node->name(), absl::Seconds(3));
          Restart(node, Between(5, 1000));
          node->PutBackSome(*copy);
          world_->tally().Count(Kind::kMixedFiles);
          if (node->may_differ()) TakeOutDifferent(node);
        });
}

void Faults::Rot() {
  SimNode* const node = AnyNode();
  if (!node->up() || node->doomed() || !MayLose(*node) || !MayDie(*node)) {
    return;
  }
  node->Die(random_.OneIn(2) ? Crash::kPower : Crash::kProcess);
  node->FlipBits();
  world_->tally().Count(Kind::kRot);
  Disturb(node->name(), absl::Seconds(3));
  Restart(node, Between(5, 1000));
}

void Faults::SendCrashing() {
  if (cluster_->LastView().members.size() < 3) return;
  cluster_->workload().AddCrashing(kHead);
}

void Faults::Pause() {
  SimNode* const node = AnyNode();
  if (!node->up() || node->paused()) return;
  const absl::Duration time =
      random_.OneIn(3) ? Between(200, 1200) : Between(2, 150);
  Unsettle(node->name(), time);
  node->Pause(time);
}

// --- The network.

void Faults::Cut(const std::vector<std::string>& from,
                 const std::vector<std::string>& to, absl::Duration time) {
  for (const std::string& a : from) {
    for (const std::string& b : to) {
      Unsettle(a, time);
      Unsettle(b, time);
      cluster_->network().Cut(a, b);
    }
  }
  After(time, [this, from, to] {
    for (const std::string& a : from) {
      for (const std::string& b : to) cluster_->network().Heal(a, b);
    }
  });
}

void Faults::CutSome() {
  std::vector<std::string> nodes;
  std::vector<std::string> managers;
  std::vector<std::string> all = {"etcd"};
  for (const auto& node : cluster_->nodes()) nodes.push_back(node->name());
  for (const auto& manager : cluster_->managers()) {
    managers.push_back(manager->name());
  }
  for (std::string& name : cluster_->ClientNames()) {
    all.push_back(std::move(name));
  }
  all.insert(all.end(), nodes.begin(), nodes.end());
  all.insert(all.end(), managers.begin(), managers.end());

  std::vector<std::string> from = {nodes[random_.Pick(nodes.size())]};
  std::vector<std::string> to;
  switch (random_.Pick(4)) {
    case 0:
      to = all;
      break;
    case 1:
      to = managers;
      break;
    case 2:
      to = nodes;
      break;
    default:
      from = {all[random_.Pick(all.size())]};
      to = {all[random_.Pick(all.size())]};
  }
  const absl::Duration time =
      random_.OneIn(3) ? Between(300, 1500) : Between(5, 300);
  const uint64_t ways = random_.Pick(4);
  world_->trace().Line(world_->now(), "-----", absl::StrJoin(from, ","),
                       ways == 0   ? " not to "
                       : ways == 1 ? " not from "
                                   : " cut from ",
                       absl::StrJoin(to, ","), " for ",
                       absl::FormatDuration(time));
  if (ways != 1) Cut(from, to, time);
  if (ways != 0) Cut(to, from, time);
}

void Faults::Slow() {
  const absl::Duration most =
      random_.OneIn(3) ? Between(10, 60) : Between(1, 10);
  world_->trace().Line(world_->now(), "-----", "the network is slow by ",
                       absl::FormatDuration(most));
  cluster_->network().SetSlow(most);
  // Most heartbeats arrive in time.
  for (const auto& node : cluster_->nodes()) {
    Unsettle(node->name(), absl::Seconds(1));
  }
  After(Between(100, 1000),
        [this] { cluster_->network().SetSlow(absl::ZeroDuration()); });
}

SimNode* Faults::AnEnd() {
  const membership::View view = cluster_->LastView();
  const size_t second = view.members.size() > 1 ? 1 : 0;
  const membership::Member& member = random_.OneIn(3)   ? view.tail()
                                     : random_.OneIn(4) ? view.members[second]
                                                        : view.head();
  return cluster_->node(member.node_id);
}

// A node continues as if nothing had happened, or wakes up later, while the
// others get a view without it.
void Faults::LeaveBehind() {
  SimNode* const node = AnEnd();
  if (!node->up() || node->paused()) return;
  if (random_.OneIn(4)) return LeaveBehindWithLeader(*node);
  const absl::Duration time = Between(350, 1200);
  if (random_.OneIn(3)) {
    Unsettle(node->name(), time);
    return node->Pause(time);
  }
  std::vector<std::string> managers;
  for (const auto& manager : cluster_->managers()) {
    managers.push_back(manager->name());
  }
  world_->trace().Line(world_->now(), "-----", node->name(),
                       " left behind for ", absl::FormatDuration(time));
  Cut({node->name()}, managers, time);
  if (random_.OneIn(2)) Cut(managers, {node->name()}, time);
}

// The node and the leader reach each other, and the leader reaches no other
// node that could tell it that another manager leads.
void Faults::LeaveBehindWithLeader(const SimNode& node) {
  std::vector<std::string> rest = {"etcd"};
  std::string leader;
  for (const auto& manager : cluster_->managers()) {
    if (manager->leads()) {
      leader = manager->name();
    } else {
      rest.push_back(manager->name());
    }
  }
  if (leader.empty()) return;
  for (const auto& other : cluster_->nodes()) {
    if (other.get() != &node) rest.push_back(other->name());
  }
  const absl::Duration time = Between(1000, 2500);
  world_->trace().Line(world_->now(), "-----", node.name(), ",", leader,
                       " left behind for ", absl::FormatDuration(time));
  Cut({leader}, rest, time);
  Cut(rest, {leader}, time);
  Unsettle(node.name(), time);
}

}  // namespace kamino::simulation
