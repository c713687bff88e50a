// The part of ManagerCore that finalizes a release: it puts new feature levels
// in force.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "membership/manager_core.h"

namespace kamino::membership {
namespace {

// A node that is not in the chain could not return.
absl::Status LocksOut(const std::string& misfit) {
  return absl::FailedPreconditionError(
      absl::StrCat(misfit,
                   " once the release is finalized: the node would be refused "
                   "for good; start it on the new release first, or force it"));
}

}  // namespace

std::vector<ManagerCore::Rise> ManagerCore::NotFinalized() const {
  std::vector<Rise> rises;
  if (!view_.formed()) return rises;
  for (const auto& [name, level] : view_.FinalLevels()) {
    const auto found = view_.in_force.find(name);
    const uint64_t now = found == view_.in_force.end() ? 0 : found->second;
    if (level != now) rises.push_back({name, now, level});
  }
  return rises;
}

absl::Status ManagerCore::Finalize(bool force, absl::Time now) {
  if (!view_.formed()) {
    return absl::FailedPreconditionError(
        "there is no chain yet; its first view takes the highest levels that "
        "all of its nodes support");
  }
  if (!ahead_.empty()) return absl::FailedPreconditionError(WhyBehind());
  for (const Member& member : view_.members) {
    const auto found = nodes_.find(member.node_id);
    if (found != nodes_.end() && Alive(found->second, now) &&
        found->second.state.member.incarnation == member.incarnation) {
      continue;
    }
    // It may return with an older release.
    return absl::FailedPreconditionError(
        absl::StrCat("member ", member.node_id,
                     " is not alive; finalize once all members are"));
  }
  const InForce levels = view_.FinalLevels();
  for (const auto& [id, node] : nodes_) {
    const std::string misfit = Misfit(node.state.member.agreement, id, levels);
    if (!misfit.empty() && !force) return LocksOut(misfit);
  }
  finalizing_ = !NotFinalized().empty();
  return absl::OkStatus();
}

std::optional<View> ManagerCore::FinalizedView() const {
  if (!finalizing_ || !view_.formed()) return std::nullopt;
  View next{view_.cluster_id, view_.id + 1, view_.members, excluded_,
            view_.chain_id};
  next.away = view_.away;
  next.Finalize();
  return next;
}

void ManagerCore::ForgetMisfits() {
  std::erase_if(nodes_, [this](const auto& each) {
    const Member& member = each.second.state.member;
    return !HasPlace(member) &&
           !Misfit(member.agreement, member.node_id, view_.in_force).empty();
  });
}

}  // namespace kamino::membership
