// SimNode's part that is started with other flags, and corrected.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "tests/simulation/sim_node.h"

namespace kamino::simulation {

void SimNode::DrawFlags() {
  // Nodes that all begin anew are not bound by earlier settings: see
  // operations.md, Settings that all nodes share.
  if (!OthersAreUp()) return;
  if (starts_ > 1 && random_.OneIn(8)) mismatched_ = true;
  if (starts_ > 1 && random_.OneIn(4)) {
    newer_ = !newer_;
    Trace("is started with ", newer_ ? "a newer" : "an older", " program");
  }
  if (mismatched_) Trace("is started with flags that do not fit");
}

// The undo copy that executed mutations also rolls them back, though.
void SimNode::SetMismatchedFlags(node::StorageOptions* options) {
  if (RollsBackAlone(options->mode) && options->salt % 2 == 0) {
    options->undo_copy = options->undo_copy == UndoCopyKind::kSimple
                             ? UndoCopyKind::kDynamic
                             : UndoCopyKind::kSimple;
  } else {
    options->ring_bytes *= 2;
  }
}

bool SimNode::OthersAreUp() const {
  size_t up = 0;
  for (const auto& [name, node] : peers_->nodes) {
    if (node->mismatched_) return false;
    up += node != this && node->up() && node->node_ != nullptr &&
          node->node()->core().place().role() != membership::Role::kOutside;
  }
  return up > 0;
}

bool SimNode::IsMismatched(const absl::Status& status) const {
  if (!options_.unequal || !absl::IsFailedPrecondition(status) ||
      agent_ == nullptr || !agent_->refused() ||
      !absl::StrContains(status.message(), "must have it in common")) {
    return false;
  }
  bool differs = mismatched_ || !newer_;
  const membership::View view = options_.stored_view();
  for (const auto& [name, node] : peers_->nodes) {
    differs |= node->CountsAsMismatched(view);
  }
  return differs;
}

// A recovered view may have been formed without the node that has the entry.
bool SimNode::LacksProcedure(const absl::Status& status) const {
  return !newer_ && absl::IsFailedPrecondition(status) &&
         absl::StrContains(status.message(),
                           "with a release that has the procedure");
}

// A manager may count on the node's former life for as long as that was silent,
// and the stored view names it until the manager hears the present one.
bool SimNode::CountsAsMismatched(const membership::View& stored) const {
  if (mismatched_ || world()->now() < mismatched_until_) return true;
  return std::any_of(stored.members.begin(), stored.members.end(),
                     [this](const membership::Member& member) {
                       return member.node_id == name() &&
                              mismatched_lives_.contains(member.incarnation);
                     });
}

void SimNode::OnMismatch(const absl::Status& status) {
  Trace("is refused: ", status.message());
  world()->tally().Count(Kind::kMismatch);
  GoDown(Crash::kProcess);
  world()->After(kOperatorDelay, [this] {
    for (const auto& [name, node] : peers_->nodes) {
      if (node->mismatched_) node->SetRight();
    }
    if (up()) return;  // with other flags already
    newer_ = true;
    Start();
  });
}

// An operator has it started with the others' flags.
void SimNode::SetRight() {
  if (up()) Die(Crash::kProcess);
  mismatched_ = false;
  mismatched_until_ = world()->now() + absl::Seconds(2);
  Start();
}

}  // namespace kamino::simulation
