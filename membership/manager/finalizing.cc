#include "membership/manager/finalizing.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "membership/agreement.h"

namespace kamino::membership {
namespace {

// A node that is not in the chain could not return.
absl::Status LocksOut(const std::string& mismatch) {
  return absl::FailedPreconditionError(
      absl::StrCat(mismatch,
                   " once the release is finalized: the node would be refused "
                   "for good; start it on the new release first, or force it"));
}

}  // namespace

std::vector<Rise> NotFinalized(const View& view) {
  std::vector<Rise> rises;
  if (!view.formed()) return rises;
  for (const auto& [name, level] : view.FinalLevels()) {
    const auto found = view.in_force.find(name);
    const uint64_t now = found == view.in_force.end() ? 0 : found->second;
    if (level != now) rises.push_back({name, now, level});
  }
  return rises;
}

absl::Status Finalizing::Finalize(bool force, absl::Time now) {
  if (!context_->view.formed()) {
    return absl::FailedPreconditionError(
        "there is no chain yet; its first view takes the levels that "
        "finalizing "
        "would put in force");
  }
  if (watch_->behind()) {
    return absl::FailedPreconditionError(watch_->WhyBehind());
  }
  for (const Member& member : context_->view.members) {
    const Node* const found = registry_->Find(member.node_id);
    if (found != nullptr && registry_->Alive(*found, now) &&
        found->state.member.incarnation == member.incarnation) {
      continue;
    }
    // It may return with an older release.
    return absl::FailedPreconditionError(
        absl::StrCat("member ", member.node_id,
                     " is not alive; finalize once all members are"));
  }
  const InForce levels = context_->view.FinalLevels();
  for (const auto& [id, node] : registry_->nodes()) {
    const std::string mismatch =
        MismatchOf(node.state.member.agreement, id, levels);
    if (!mismatch.empty() && !force) return LocksOut(mismatch);
  }
  asked_ = !NotFinalized(context_->view).empty();
  return absl::OkStatus();
}

std::optional<View> Finalizing::FinalizedView() const {
  if (!asked_ || !context_->view.formed()) return std::nullopt;
  View next{context_->view.cluster_id, context_->view.id + 1,
            context_->view.members, context_->excluded,
            context_->view.chain_id};
  next.away = context_->view.away;
  next.Finalize();
  return next;
}

void Finalizing::OnView() {
  asked_ = asked_ && !NotFinalized(context_->view).empty();
}

}  // namespace kamino::membership
