// The part of ManagerCore for members that return with stale copies of their
// data, while the store knows how far the chain has come.
#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "membership/manager_core.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {

std::string OfEpoch(const NodeReport& report, const View& view) {
  return report.epoch < view.epoch
             ? absl::StrCat(" of recovery epoch ", report.epoch,
                            ", which is over")
             : "";
}

}  // namespace

void ManagerCore::NoteProgress() {
  for (const auto& [id, node] : nodes_) {
    const uint64_t said =
        std::min(AcknowledgedBy(view_, node.state.member, node.state.report),
                 AppliedByOthers(id));
    if (said <= progress_.acknowledged) continue;
    progress_.acknowledged = said;
    progress_.view_id = view_.id;
  }
}

uint64_t ManagerCore::AppliedByOthers(const std::string& node_id) const {
  if (view_.members.size() == 1) return UINT64_MAX;
  uint64_t applied = 0;
  for (const auto& [id, node] : nodes_) {
    const NodeReport& report = node.state.report;
    if (id == node_id || !HasPlace(node.state.member) ||
        report.epoch != view_.epoch) {
      continue;
    }
    applied = std::max(applied, report.cursors.applied);
  }
  return applied;
}

// Outside the chain, a heap may hold mutations that were never acknowledged.
uint64_t ManagerCore::HeldBefore(const Node& known,
                                 const Member& member) const {
  const NodeReport& said = known.state.report;
  if (!HasPlace(member) || known.state.member.heap_id != member.heap_id ||
      said.condition == Condition::kBehind ||
      said.condition == Condition::kReceiving) {
    return 0;
  }
  return std::max(known.state.held, said.cursors.applied);
}

absl::Status ManagerCore::CheckHoldsAll(const Node& node,
                                        absl::Time now) const {
  const std::string& id = node.state.member.node_id;
  const auto shortfall = ShortfallOfNode(node, now);
  if (!shortfall.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", id, " is on an old copy of its data: it holds mutations up to ",
      shortfall->holds, ", but according to ",
      shortfall->known_by.empty() ? "the managers" : shortfall->known_by,
      " it had applied mutations up to ", shortfall->needs,
      "; move its files away and start it again: it joins as a new node"));
}

std::optional<Shortfall> ManagerCore::ShortfallOfNode(const Node& node,
                                                      absl::Time now) const {
  const std::string& id = node.state.member.node_id;
  KnownNodes states = States(now);
  states[id] = StateOf(node, now);
  return ShortfallOf(view_, states, id);
}

absl::Status ManagerCore::CheckCluster(const Member& member,
                                       const NodeReport& report) const {
  if (view_.cluster_uuid.empty() || report.cluster_uuid.empty() ||
      view_.cluster_uuid == report.cluster_uuid) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " holds data of another cluster named ",
      options_.cluster_id, ", of uuid ",
      absl::BytesToHexString(report.cluster_uuid),
      "; the uuid of this cluster is ",
      absl::BytesToHexString(view_.cluster_uuid),
      ": its --managers has an address that is wrong or is used by this "
      "cluster now; name the managers of its cluster. If the node is meant for "
      "this cluster, start it with another --data_dir"));
}

bool ManagerCore::IsAbandoned(const Node& node) const {
  const Member& member = node.state.member;
  const NodeReport& report = node.state.report;
  if (report.epoch == 0 || report.epoch >= view_.epoch || !HasPlace(member)) {
    return false;
  }
  // The recovery's view names it, but it does not know that view: it still
  // runs, or was restarted on the data that it held.
  const auto recovered = view_.recovered_at.find(member.node_id);
  const bool goes_on = view_.IndexOf(member.node_id, member.incarnation) >= 0 &&
                       report.view_id != 0;
  return !goes_on && (recovered == view_.recovered_at.end() ||
                      recovered->second != report.cursors.applied);
}

bool ManagerCore::FallsShort(const Node& node) const {
  const NodeReport& report = node.state.report;
  return HasPlace(node.state.member) && report.ClaimsAll() &&
         (IsAbandoned(node) || report.cursors.applied < progress_.acknowledged);
}

bool ManagerCore::IsOfEarlierLife(const Node& node, const Node& known,
                                  absl::Time now) const {
  const std::string& id = node.state.member.node_id;
  return node.state.member.IsRestartedAs(known.state.member) &&
         !Alive(known, now) && FallsShort(node) && !AnotherHoldsAll(id, now);
}

bool ManagerCore::AnotherHoldsAll(const std::string& but,
                                  absl::Time now) const {
  const KnownNodes states = States(now);
  return std::any_of(
      view_.members.begin(), view_.members.end(), [&](const Member& member) {
        const auto found = states.find(member.node_id);
        return member.node_id != but && found != states.end() &&
               found->second.alive && HasPlace(found->second.member) &&
               found->second.report.ClaimsAll() &&
               !ShortfallOf(view_, states, member.node_id).has_value();
      });
}

absl::Status ManagerCore::CheckReturn(const Node& node, absl::Time now) {
  const std::string& id = node.state.member.node_id;
  const NodeReport& report = node.state.report;
  const bool falls_short = FallsShort(node);
  const absl::Status holds =
      IsAbandoned(node)
          ? absl::FailedPreconditionError(absl::StrCat(
                "node ", id, " holds data of recovery epoch ", report.epoch,
                ", mutations up to ", report.cursors.applied,
                "; the chain was recovered by force since, and is in epoch ",
                view_.epoch,
                ": that data no longer counts, and is left as it is; move its "
                "files away and start it again: it joins as a new node"))
          : CheckHoldsAll(node, now);
  if (holds.ok()) {
    // A copy from before the last start may reach the same incarnation again.
    // This check may err, because this report may be older than others'.
    const bool just_begun = report.condition == Condition::kReturned ||
                            report.condition == Condition::kTorn;
    return falls_short && just_begun ? KeepWaiting(node, now) : holds;
  }
  return falls_short && !AnotherHoldsAll(id, now) ? KeepWaiting(node, now)
                                                  : holds;
}

absl::Status ManagerCore::KeepWaiting(const Node& node, absl::Time now) {
  const std::string& id = node.state.member.node_id;
  Node waits = node;
  waits.last_heard = now;
  waiting_[id] = std::move(waits);
  return absl::UnavailableError(absl::StrCat(
      "node ", id, " is on an old copy of its data: it holds mutations up to ",
      node.state.report.cursors.applied, OfEpoch(node.state.report, view_),
      ", and those up to ", progress_.acknowledged,
      " were acknowledged in view ", progress_.view_id,
      "; it waits for a member that holds them"));
}

const ManagerCore::Node* ManagerCore::NewestOldCopy(absl::Time now,
                                                    bool whole) const {
  const Node* newest = nullptr;
  for (const auto& [id, node] : waiting_) {
    const NodeReport& report = node.state.report;
    if (!Alive(node, now) || !FallsShort(node)) continue;
    if (whole && report.condition == Condition::kTorn) continue;
    if (newest == nullptr || RankOf(newest->state.report) < RankOf(report)) {
      newest = &node;
    }
  }
  return newest;
}

std::string ManagerCore::WhyWaits(absl::Time now) const {
  if (!view_.formed() || CanGoOn(view_, States(now)) ||
      AnotherHoldsAll(/*but=*/"", now)) {
    return "";
  }
  const Node* newest = NewestOldCopy(now, /*whole=*/false);
  if (newest == nullptr) return "";
  return absl::StrCat(
      "the chain waits for newer files: acknowledged up to ",
      progress_.acknowledged, " in view ", progress_.view_id,
      ", the newest copy is that of ", newest->state.member.node_id, " with ",
      newest->state.report.cursors.applied,
      OfEpoch(newest->state.report, view_),
      "; restore newer files of a member, or let the chain go on without the "
      "mutations acknowledged since: kamino admin recover");
}

const ManagerCore::Node* ManagerCore::NewestOutside(absl::Time now,
                                                    bool excluded) const {
  const Node* newest = nullptr;
  for (const auto& [id, node] : nodes_) {
    const NodeReport& report = node.state.report;
    if (!Alive(node, now)) continue;
    // A live member waits for the other members, even if only to stay out.
    if (HasPlace(node.state.member)) return nullptr;
    if ((excluded_.count(id) > 0) != excluded) continue;
    const bool holds_data = report.condition == Condition::kSound ||
                            report.condition == Condition::kReturned;
    if (!holds_data || report.member_view == 0) continue;
    if (newest == nullptr || RankOf(newest->state.report) < RankOf(report)) {
      newest = &node;
    }
  }
  return newest;
}

absl::Status ManagerCore::CheckNoneServes(absl::Time now) const {
  for (const Member& member : view_.members) {
    const auto found = nodes_.find(member.node_id);
    if (found != nodes_.end() && Alive(found->second, now) &&
        HasPlace(found->second.state.member) &&
        (found->second.state.report.ClaimsAll() ||
         found->second.state.report.condition == Condition::kUnknown)) {
      return absl::UnavailableError(absl::StrCat(
          "node ", member.node_id, " may hold a lease; stop it first"));
    }
  }
  return absl::OkStatus();
}

std::string ManagerCore::RatherThanOldCopies(absl::Time now) const {
  std::vector<std::string> away;
  for (const Member& member : view_.members) {
    const auto known = nodes_.find(member.node_id);
    const auto waits = waiting_.find(member.node_id);
    if ((known == nodes_.end() || !Alive(known->second, now)) &&
        (waits == waiting_.end() || !Alive(waits->second, now))) {
      away.push_back(member.node_id);
    }
  }
  if (away.empty()) return "restore newer files of a member";
  return absl::StrCat("start the others of view ", view_.id, ": ",
                      absl::StrJoin(away, ", "));
}

ManagerCore::Recovery ManagerCore::RecoveryFrom(const Node& node,
                                                absl::Time now) const {
  const NodeReport& report = node.state.report;
  Recovery recovery;
  recovery.rather = RatherThanOldCopies(now);
  // Numbers of a past epoch mean nothing in this one, and those of a past view
  // only count if they are lower.
  const bool compares = report.member_view >= progress_.view_id ||
                        report.cursors.applied < progress_.acknowledged;
  if (report.epoch == view_.epoch && compares) {
    recovery.holds = report.cursors.applied;
    recovery.acknowledged = progress_.acknowledged;
  }
  recovery.view = View{options_.cluster_id,
                       view_.id + 1,
                       {node.state.member},
                       excluded_,
                       options_.chain_id};
  recovery.view.epoch = std::max(view_.epoch, uint64_t{1}) + 1;
  recovery.view.recovered_at[node.state.member.node_id] =
      report.cursors.applied;
  recovery.view.Agree(view_.in_force);
  Succeed(view_, &recovery.view);
  return recovery;
}

absl::Status ManagerCore::NothingToRecoverFrom(bool stands,
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

std::string ManagerCore::WhyNotByRecovery(bool stands, absl::Time now) const {
  if (!view_.formed()) return "there is no chain yet";
  const std::vector<std::string> awaited = WaitingFor(now);
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
  const KnownNodes states = States(now);
  const bool any_has_all = std::any_of(
      view_.members.begin(), view_.members.end(),
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

absl::StatusOr<ManagerCore::Recovery> ManagerCore::PlanFromOldCopies(
    absl::Time now) const {
  const bool all_old = !WhyWaits(now).empty();
  const bool stands = view_.formed() && !CanGoOn(view_, States(now));
  const Node* outside =
      stands && !all_old ? NewestOutside(now, /*excluded=*/false) : nullptr;
  if (!all_old && outside == nullptr) return NothingToRecoverFrom(stands, now);
  if (now < leases_until_) {
    return absl::UnavailableError(
        absl::StrCat("earlier leases may be valid for another ",
                     absl::FormatDuration(leases_until_ - now)));
  }
  // No other node can repair its interrupted entry, because the others may be
  // on copies of other moments. They join anew.
  const Node* newest = all_old ? NewestOldCopy(now, /*whole=*/true) : outside;
  if (newest == nullptr) {
    return absl::FailedPreconditionError(
        "all members that returned are torn, and none can continue alone; "
        "restore "
        "other files of a member");
  }
  RETURN_IF_ERROR(CheckNoneServes(now));
  return RecoveryFrom(*newest, now);
}

}  // namespace kamino::membership
