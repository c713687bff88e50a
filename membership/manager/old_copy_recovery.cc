#include "membership/manager/old_copy_recovery.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "membership/manager/next_view.h"
#include "membership/progress.h"
#include "membership/view_history.h"

namespace kamino::membership {

const OldCopyRecovery::Node* OldCopyRecovery::NewestOutside(
    absl::Time now, bool excluded) const {
  const Node* newest = nullptr;
  for (const auto& [id, node] : registry_->nodes()) {
    const NodeReport& report = node.state.report;
    if (!registry_->Alive(node, now)) continue;
    // A live member waits for the other members, even if only to stay out.
    if (context_->HasPlace(node.state.member)) return nullptr;
    if ((context_->excluded.count(id) > 0) != excluded) continue;
    const bool holds_data = report.condition == Condition::kSound ||
                            report.condition == Condition::kReturned;
    if (!holds_data || report.member_view == 0) continue;
    if (newest == nullptr || RankOf(newest->state.report) < RankOf(report)) {
      newest = &node;
    }
  }
  return newest;
}

absl::Status OldCopyRecovery::CheckNoneServes(absl::Time now) const {
  for (const Member& member : context_->view.members) {
    const Node* const found = registry_->Find(member.node_id);
    if (found != nullptr && registry_->Alive(*found, now) &&
        context_->HasPlace(found->state.member) &&
        (found->state.report.ClaimsAll() ||
         found->state.report.condition == Condition::kUnknown)) {
      return absl::UnavailableError(absl::StrCat(
          "node ", member.node_id, " may hold a lease; stop it first"));
    }
  }
  return absl::OkStatus();
}

std::string OldCopyRecovery::RatherThanOldCopies(absl::Time now) const {
  std::vector<std::string> away;
  for (const Member& member : context_->view.members) {
    const Node* const known = registry_->Find(member.node_id);
    const Node* const waits = registry_->FindWaiting(member.node_id);
    if ((known == nullptr || !registry_->Alive(*known, now)) &&
        (waits == nullptr || !registry_->Alive(*waits, now))) {
      away.push_back(member.node_id);
    }
  }
  if (away.empty()) return "restore newer files of a member";
  return absl::StrCat("start the others of view ", context_->view.id, ": ",
                      absl::StrJoin(away, ", "));
}

RecoveryPlan OldCopyRecovery::PlanFrom(const Node& node, absl::Time now) const {
  const NodeReport& report = node.state.report;
  RecoveryPlan recovery;
  recovery.rather = RatherThanOldCopies(now);
  // Numbers of a past epoch mean nothing in this one, and those of a past view
  // only count if they are lower.
  const bool compares =
      report.member_view >= context_->progress.view_id ||
      report.cursors.applied < context_->progress.acknowledged;
  if (report.epoch == context_->view.epoch && compares) {
    recovery.holds = report.cursors.applied;
    recovery.acknowledged = context_->progress.acknowledged;
  }
  recovery.view = View{context_->options.cluster_id,
                       context_->view.id + 1,
                       {node.state.member},
                       context_->excluded,
                       context_->options.chain_id};
  recovery.view.epoch = std::max(context_->view.epoch, uint64_t{1}) + 1;
  recovery.view.recovered_at[node.state.member.node_id] =
      report.cursors.applied;
  recovery.view.Agree(context_->view.in_force);
  Succeed(context_->view, &recovery.view);
  return recovery;
}

absl::Status OldCopyRecovery::NothingToRecoverFrom(bool stands,
                                                   absl::Time now) const {
  const Node* removed =
      stands ? NewestOutside(now, /*excluded=*/true) : nullptr;
  if (removed != nullptr) {
    const std::string& id = removed->state.member.node_id;
    return absl::FailedPreconditionError(absl::StrCat(
        "nothing to recover from but ", id, ", which holds mutations up to ",
        removed->state.report.cursors.applied, " of view ",
        removed->state.report.member_view,
        ", and was removed: start the members of the chain; where all of them "
        "are lost for good, kamino admin add --no_wait ",
        id, ", then kamino admin recover --confirm --force, ",
        "lets the chain go on from it"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "there is nothing to recover from: ", WhyNotByRecovery(stands, now)));
}

std::string OldCopyRecovery::WhyNotByRecovery(bool stands,
                                              absl::Time now) const {
  if (!context_->view.formed()) return "there is no chain yet";
  const std::vector<std::string> awaited = registry_->WaitingFor(now);
  if (awaited.empty()) {
    return stands ? "no running member can continue alone (kamino admin status "
                    "shows "
                    "their states); restore other files of a member, or a "
                    "backup: kamino backup restore"
                  : "the chain can continue by itself";
  }
  const std::string waits =
      absl::StrCat("the chain waits for ", absl::StrJoin(awaited, ", "), "; ");
  if (!stands) {
    return absl::StrCat(waits, "start ", awaited.size() == 1 ? "it" : "them",
                        ", or go on without one: kamino admin remove --force ",
                        awaited[0]);
  }
  const KnownNodes states = registry_->States(now);
  const bool any_has_all = std::any_of(
      context_->view.members.begin(), context_->view.members.end(),
      [&](const Member& member) { return RunsWithAll(member, states); });
  if (!any_has_all) {
    return absl::StrCat(
        waits,
        "start a member on its data; no running member has any. If all of it ",
        "is lost, restore a backup: kamino backup restore");
  }
  return absl::StrCat(
      waits,
      "start all nodes that have its data; if the data of these members is "
      "lost, start each of them with an empty data directory, and the chain "
      "continues with the data of the members that run; if all of those are "
      "torn, restore a backup: kamino backup restore");
}

absl::StatusOr<RecoveryPlan> OldCopyRecovery::Plan(absl::Time now) const {
  const bool all_old = !copies_->WhyWaits(now).empty();
  const bool stands = context_->view.formed() &&
                      !CanContinue(context_->view, registry_->States(now));
  const Node* outside =
      stands && !all_old ? NewestOutside(now, /*excluded=*/false) : nullptr;
  if (!all_old && outside == nullptr) return NothingToRecoverFrom(stands, now);
  RETURN_IF_ERROR(watch_->CheckLeasesEnded(now));
  // No other node can repair its interrupted entry, because the others may be
  // on copies of other moments. They join anew.
  const Node* newest = all_old ? copies_->Newest(now, /*whole=*/true) : outside;
  if (newest == nullptr) {
    return absl::FailedPreconditionError(
        "all members that returned are torn, and none can continue alone; "
        "restore "
        "other files of a member");
  }
  RETURN_IF_ERROR(CheckNoneServes(now));
  return PlanFrom(*newest, now);
}

}  // namespace kamino::membership
