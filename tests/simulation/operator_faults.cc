// Faults: operators that remove nodes from the chain and add them at random,
// along with all other faults.
#include "tests/simulation/faults.h"

namespace kamino::simulation {

void Faults::ChangeMembers() {
  SimNode* const node = AnyNode();
  if (operator_.Wants(node->name())) return;
  // The operator who forces a removal must keep enough nodes; otherwise the
  // managers do.
  const bool may_force = MayLose(*node);
  const Operator::Removal how = random_.OneIn(2) ? Operator::Removal::kDrain
                                : may_force && random_.OneIn(3)
                                    ? Operator::Removal::kForced
                                    : Operator::Removal::kNow;
  operator_.TakeOut(node->name(), how, [this, node, how] {
    world_->tally().Count(how == Operator::Removal::kDrain ? Kind::kDrain
                                                           : Kind::kRemoval);
    Maintain(node);
  });
}

// The node is out, and is added later; its machine is serviced meanwhile, or
// not.
void Faults::Maintain(SimNode* node) {
  if (stopped_) return;
  if (random_.OneIn(2) && node->up()) {
    node->Die(random_.OneIn(2) ? Crash::kPower : Crash::kProcess);
    if (random_.OneIn(2)) node->LoseDisk();
    Restart(node, Between(5, 800));
  }
  After(Between(5, 1500), [this, node] { operator_.Add(node->name()); });
}

// Nodes of the older release that are outside the chain, or return to it, are
// refused from then on.
void Faults::FinalizeLater() {
  const absl::Duration pause =
      releases_.Between(absl::Milliseconds(300), absl::Milliseconds(4000));
  After(pause, [this] {
    const bool force = releases_.OneIn(3);
    for (const auto& manager : cluster_->managers()) {
      if (!manager->leads() || manager->paused()) continue;
      const absl::Status asked = manager->Administer(
          [force](membership::ManagerCore* core, absl::Time now) {
            return core->finalizing().Finalize(force, now);
          });
      manager->Trace("is asked to finalize", force ? " by force: " : ": ",
                     asked.ok() ? "ok" : asked.message());
      if (asked.ok()) world_->tally().Count(Kind::kFinalized);
    }
    FinalizeLater();
  });
}

}  // namespace kamino::simulation
