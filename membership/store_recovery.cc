// ManagerCore's part for a store of views that was put back from an older copy,
// or emptied.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "membership/manager_core.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {

std::string Named(const View& view) {
  return view.formed() ? absl::StrCat("view ", view.id)
                       : std::string("no view");
}

bool HoldsData(Condition condition) {
  return condition == Condition::kSound || condition == Condition::kTorn ||
         condition == Condition::kReturned;
}

}  // namespace

std::string ManagerCore::WhyBehind() const {
  if (ahead_.empty()) return "";
  return absl::StrCat(
      "the views stored at etcd are not the newest: there is ", Named(view_),
      ", but node ", ahead_, " knows ",
      ahead_view_ == view_.id ? "another " : "", "view ", ahead_view_,
      "; nobody is led until the newest copy of etcd is put back, or the chain "
      "goes on from what its nodes hold: kamino admin recover");
}

absl::Status ManagerCore::CheckHistory(const std::string& node_id,
                                       const NodeReport& report,
                                       absl::Time now) {
  const uint64_t newest = report.newest_view();
  const uint64_t digest = report.view_id == newest ? report.view_digest : 0;
  const Kinship kinship = KinshipOf(newest, digest, view_);
  if (kinship == Kinship::kAnother && newest < view_.id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node_id, " knows another view ", newest,
        " than the one before ", Named(view_),
        ": its data is of another history of cluster ", options_.cluster_id,
        " and is left as it is; move its files away and start it again: it "
        "joins as a new node"));
  }
  if (kinship != Kinship::kPast && (ahead_.empty() || newest > ahead_view_)) {
    if (ahead_.empty()) {
      leases_until_ = std::max(leases_until_, now + options_.failure_timeout);
    }
    ahead_ = node_id;
    ahead_view_ = newest;
  }
  return ahead_.empty() ? absl::OkStatus()
                        : absl::UnavailableError(WhyBehind());
}

void ManagerCore::Learn(const View& view) {
  if (view.id > learned_.id) learned_ = view;
}

View ManagerCore::NewestKnown(absl::Time now) const {
  uint64_t newest = view_.id;
  for (const auto& [id, node] : nodes_) {
    if (Alive(node, now)) {
      newest = std::max(newest, node.state.report.newest_view());
    }
  }
  if (learned_.id == newest) return learned_;
  if (view_.id == newest) return view_;
  // All who were in it have been restarted: who had more was further ahead.
  View view{options_.cluster_id, newest, {}, {}, options_.chain_id};
  std::vector<const KnownNode*> held;
  for (const auto& [id, node] : nodes_) {
    if (Alive(node, now) && node.state.report.member_view == newest) {
      held.push_back(&node.state);
    }
  }
  std::stable_sort(
      held.begin(), held.end(), [](const KnownNode* a, const KnownNode* b) {
        return a->report.cursors.received > b->report.cursors.received;
      });
  for (const KnownNode* node : held) view.members.push_back(node->member);
  return view;
}

absl::StatusOr<ManagerCore::Recovery> ManagerCore::PlanRecovery(
    absl::Time now) const {
  if (ahead_.empty()) {
    return absl::FailedPreconditionError(
        "nothing to recover from: no node knows a later view than the one that "
        "is stored");
  }
  if (now < leases_until_) {
    return absl::UnavailableError(
        absl::StrCat("leases of before may run for another ",
                     absl::FormatDuration(leases_until_ - now)));
  }
  const View newest = NewestKnown(now);
  const KnownNodes states = States(now);
  Recovery recovery;
  recovery.complete = learned_.id == newest.id && CanGoOn(newest, states);
  recovery.view = View{options_.cluster_id,
                       newest.id + 1,
                       {},
                       newest.excluded,
                       options_.chain_id};
  bool whole = false;
  for (const Member& member : newest.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end() || !found->second.alive) continue;
    const Member& now_there = found->second.member;
    if (now_there.heap_id != member.heap_id ||
        found->second.report.condition == Condition::kReceiving) {
      continue;
    }
    recovery.view.members.push_back(now_there);
    whole = whole || HoldsData(found->second.report.condition);
  }
  if (!whole) {
    return absl::FailedPreconditionError(
        absl::StrCat("no node that is alive was a member of ", Named(newest),
                     " and holds its data; start those that were"));
  }
  recovery.view.Agree();
  Succeed(newest, &recovery.view);
  return recovery;
}

absl::StatusOr<ManagerCore::Recovery> ManagerCore::Recover(bool force,
                                                           absl::Time now) {
  ASSIGN_OR_RETURN(Recovery recovery, PlanRecovery(now));
  if (!recovery.complete && !force) {
    return absl::FailedPreconditionError(absl::StrCat(
        "those who are alive may lack what the chain has acknowledged: start "
        "all nodes of view ",
        recovery.view.id - 1, ", or force it; it would be ",
        recovery.view.ToString()));
  }
  proposed_ = recovery.view;
  excluded_ = recovery.view.excluded;
  return recovery;
}

}  // namespace kamino::membership
