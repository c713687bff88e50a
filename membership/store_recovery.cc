// The part of ManagerCore for a store of views that was restored from an older
// copy, or emptied.
#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "membership/claims.h"
#include "membership/manager_core.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {

std::string Named(const View& view) {
  return view.formed() ? absl::StrCat("view ", view.id)
                       : std::string("no view");
}

// How long the last report that the store is behind counts. The reporting node
// may be restarted meanwhile, and then waits at most a minute before it
// registers (its restarts).
constexpr absl::Duration kBelievedFor = absl::Seconds(90);

KnownView KnownOf(const View& view) { return {view.epoch, view.id, 0}; }

bool IsSame(const KnownView& a, const KnownView& b) {
  return !a.IsBefore(b) && !b.IsBefore(a);
}

bool IsSame(const KnownView& known, const View& view) {
  return IsSame(known, KnownOf(view));
}

KnownView NewestOf(const std::vector<KnownView>& all) {
  KnownView newest = all.front();
  for (const KnownView& each : all) {
    if (newest.IsBefore(each)) newest = each;
  }
  return newest;
}

bool HoldsData(Condition condition) {
  return condition == Condition::kSound || condition == Condition::kTorn ||
         condition == Condition::kReturned;
}

// Whether those nodes alone can continue as a chain: an interrupted entry needs
// another node to repair it, which must not be on a stale copy.
bool CanServe(const View& view, const KnownNodes& nodes) {
  const auto of = [&nodes](const Member& member) -> const NodeReport& {
    return nodes.at(member.node_id).report;
  };
  uint64_t cleaned = 0;
  for (const Member& member : view.members) {
    cleaned = std::max(cleaned, of(member).cursors.cleaned);
  }
  View able = view;
  std::erase_if(able.members, [&](const Member& member) {
    return of(member).cursors.applied < cleaned;
  });
  if (able.members.size() != 1) return CanGoOn(able, nodes);
  const Condition condition = of(able.head()).condition;
  return HoldsData(condition) && condition != Condition::kTorn;
}

// The members of a view that are not there, as far as they are known.
struct Missing {
  uint64_t view_id = 0;
  std::vector<std::string> nodes;

  // "view 2: n1 or n3".
  std::string Named(absl::string_view between) const {
    return absl::StrCat("view ", view_id, nodes.empty() ? "" : ": ",
                        absl::StrJoin(nodes, between));
  }
};

// Why `there`, the live members of a view, cannot continue, and which nodes are
// needed: another member of that view, or better one of the newest view.
absl::Status CannotGoOn(const View& there, const KnownNodes& nodes,
                        const Missing& others, const Missing& of_newest) {
  std::vector<std::string> torn;
  for (const Member& member : there.members) {
    if (nodes.at(member.node_id).report.condition == Condition::kTorn) {
      torn.push_back(member.node_id);
    }
  }
  if (torn.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no node that is alive was a member of view ", of_newest.view_id,
        " and holds its data; start the members of ", of_newest.Named(", ")));
  }
  const std::string which = absl::StrJoin(torn, ", ");
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", which,
      " is torn, and no node that is alive can repair it: start ",
      others.view_id == of_newest.view_id
          ? ""
          : absl::StrCat("the members of ", of_newest.Named(", "),
                         "; or else "),
      "another member of ", others.Named(" or "), "; if none is left, stop ",
      which, ", and the chain can continue with nodes of an earlier view"));
}

// Whether `a` precedes `b` in a chain of unknown order: a predecessor has
// applied whatever its successor has received, and has received no less.
bool IsFurther(const KnownNode* a, const KnownNode* b) {
  const auto rank = [](const NodeReport& report) {
    return std::make_tuple(report.condition != Condition::kBehind,
                           report.cursors.applied, report.cursors.received);
  };
  return rank(b->report) < rank(a->report);
}

}  // namespace

std::string ManagerCore::WhyBehind() const {
  if (ahead_.empty()) return "";
  return absl::StrCat(
      "the views stored at etcd are not the newest: there is ", Named(view_),
      ", but ", ahead_, " ", ahead_view_.id == view_.id ? "another " : "",
      "view ", ahead_view_.id,
      ahead_view_.id < view_.id
          ? absl::StrCat(" of recovery epoch ", ahead_view_.epoch)
          : "",
      "; no node gets a lease until the newest copy of etcd is restored, or "
      "the chain goes on from the data of its nodes: kamino admin recover");
}

absl::Status ManagerCore::CheckClaims(const Member& member,
                                      const NodeReport& report) const {
  std::string why = Absurd(report, view_);
  const auto known = nodes_.find(member.node_id);
  if (why.empty() && known != nodes_.end() &&
      known->second.state.member.heap_id == member.heap_id) {
    why = AbsurdIncarnation(member.incarnation,
                            known->second.state.member.incarnation);
  }
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " sends an invalid report: ", why,
      ": check its machine's memory, then start it again; if it reports the "
      "same then, move its files away: it joins as a new node"));
}

bool ManagerCore::IsAhead(const NodeReport& report) const {
  return Outruns(report.newest_view(), view_);
}

void ManagerCore::GoByProgress() {
  ahead_.clear();
  if (progress_.cluster_uuid.empty() ||
      (view_.formed() && progress_.cluster_uuid != view_.cluster_uuid)) {
    return;
  }
  const KnownView known{progress_.epoch, progress_.view_id, 0};
  if (!Outruns(known, view_)) return;
  ahead_ = "a former leader used";
  ahead_view_ = known;
  ahead_said_ = absl::InfiniteFuture();
}

void ManagerCore::ForgetOldClaims(absl::Time now) {
  if (ahead_.empty() || now - ahead_said_ < kBelievedFor) return;
  // Like a new leader that has heard no node yet.
  GoByProgress();
  learned_ = View();
  KnowMembersOf(view_, now);
  hold_until_ = now + options_.takeover_grace;
  hear_all_until_ = now + options_.TimeToBeFound();
}

// A view that drops a member gets the chain's data from another member of the
// view before. The dropped member may not know of it; with a lease by an older
// store it would serve beside the members that continue.
absl::Status ManagerCore::CheckOthersHeard(const Member& member,
                                           absl::Time now) const {
  if (now >= hear_all_until_ || !ActsInView(member)) return absl::OkStatus();
  for (const Member& each : view_.members) {
    const auto found = nodes_.find(each.node_id);
    if (found != nodes_.end() && found->second.heard) continue;
    return absl::UnavailableError(absl::StrCat(
        "this manager has just begun to lead, and waits to hear from node ",
        each.node_id, " before it grants leases; try again"));
  }
  return absl::OkStatus();
}

absl::Status ManagerCore::NoteWhileBehind(const Node& node, absl::Time now) {
  const Member& member = node.state.member;
  RETURN_IF_ERROR(
      InCommon(MisfitWhileBehind(node.state, NewestKnown(now), now)));
  const auto found = nodes_.find(member.node_id);
  if (found == nodes_.end()) {
    if (MakeRoom(now).ok()) nodes_[member.node_id] = node;
    return absl::OkStatus();
  }
  // Only the old store describes a node that has not registered itself.
  if (found->second.state.report != NodeReport()) {
    RETURN_IF_ERROR(CheckTakeover(found->second, member, now));
  }
  found->second = node;
  return absl::OkStatus();
}

absl::Status ManagerCore::CheckHistory(const std::string& node_id,
                                       const NodeReport& report,
                                       const View& newest_in_full,
                                       absl::Time now) {
  const KnownView newest = report.newest_view();
  const Kinship kinship = KinshipOf(newest, view_);
  if (kinship == Kinship::kAbandoned && report.view_id >= view_.id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node_id, " is in view ", report.view_id, " of recovery epoch ",
        report.view_epoch,
        "; the chain was recovered by force since, and is in ", Named(view_),
        " of epoch ", view_.epoch, ": start the node again"));
  }
  if (kinship == Kinship::kAnother && newest.id < view_.id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node_id, " knows another view ", newest.id,
        " than the one before ", Named(view_),
        ": its data is of another history of cluster ", options_.cluster_id,
        " and is left as it is; move its files away and start it again: it "
        "joins as a new node"));
  }
  const bool ahead = IsAhead(report);
  if (ahead) {
    const std::string lacks = Unshown(report, newest_in_full, view_);
    if (!lacks.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "node ", node_id, " sends an invalid report: ", lacks,
          ": start it again; if it reports the same then, move its files away: "
          "it joins as a new node"));
    }
    ahead_said_ = now;
  }
  if (ahead && (ahead_.empty() || ahead_view_.IsBefore(newest))) {
    if (ahead_.empty()) {
      leases_until_ = std::max(leases_until_, now + options_.failure_timeout);
    }
    ahead_ = absl::StrCat("node ", node_id, " knows");
    ahead_view_ = newest;
  }
  return ahead_.empty() ? absl::OkStatus()
                        : absl::UnavailableError(WhyBehind());
}

void ManagerCore::Learn(const View& view) {
  if (!IsWhole(view, view_)) return;
  // An older program does not report the levels in force.
  const bool tells_more =
      view.id == learned_.id && view.epoch == learned_.epoch &&
      view.digest == learned_.digest && learned_.in_force.empty();
  if (tells_more ||
      KnownView{learned_.epoch, learned_.id}.IsBefore({view.epoch, view.id})) {
    learned_ = view;
  }
}

std::string ManagerCore::MisfitWhileBehind(const KnownNode& node,
                                           const View& newest,
                                           absl::Time now) const {
  const Member& member = node.member;
  const auto acts_in_it = [&newest](const Member& each) {
    return newest.IndexOf(each.node_id, each.incarnation) >= 0;
  };
  // A node is not judged by views from before the one in which it was a member.
  if (newest.in_force.empty() || acts_in_it(member) ||
      KnownView{newest.epoch, newest.id, 0}.IsBefore(
          node.report.newest_view())) {
    return "";
  }
  for (const auto& [id, other] : nodes_) {
    const Member& there = other.state.member;
    if (!Alive(other, now) || !acts_in_it(there) ||
        !Misfit(there.agreement, id, newest.in_force).empty()) {
      continue;
    }
    std::string misfit =
        Misfit(member.agreement, member.node_id, there.agreement, id);
    if (misfit.empty()) {
      misfit = Misfit(member.agreement, member.node_id, newest.in_force);
    }
    if (!misfit.empty()) return misfit;
  }
  return "";
}

View ManagerCore::NewestKnown(absl::Time now) const {
  KnownView newest{view_.epoch, view_.id};
  for (const auto& [id, node] : nodes_) {
    const KnownView known = node.state.report.newest_view();
    if (Alive(node, now) && newest.IsBefore(known)) newest = known;
  }
  if (IsSame(newest, learned_)) return learned_;
  if (IsSame(newest, view_)) return view_;
  // All its members were restarted: the one that holds more was further ahead.
  View view{options_.cluster_id, newest.id, {}, {}, options_.chain_id};
  view.epoch = newest.epoch;
  std::vector<const KnownNode*> held;
  for (const auto& [id, node] : nodes_) {
    const NodeReport& report = node.state.report;
    if (Alive(node, now) && report.member_view == newest.id &&
        report.epoch == newest.epoch) {
      held.push_back(&node.state);
      if (view.cluster_uuid.empty()) view.cluster_uuid = report.cluster_uuid;
    }
  }
  std::stable_sort(held.begin(), held.end(), IsFurther);
  for (const KnownNode* node : held) view.members.push_back(node->member);
  return view;
}

std::vector<KnownView> ManagerCore::AllKnown() const {
  std::vector<KnownView> all = {{view_.epoch, view_.id, 0},
                                {learned_.epoch, learned_.id, 0}};
  if (!ahead_.empty()) all.push_back(ahead_view_);
  for (const auto& [id, node] : nodes_) {
    all.push_back(node.state.report.newest_view());
  }
  return all;
}

std::vector<std::string> ManagerCore::MissingOf(const KnownView& known,
                                                absl::Time now) const {
  std::vector<std::string> missing;
  for (const View* view : {&learned_, &view_}) {
    if (!IsSame(known, *view)) continue;
    for (const Member& member : view->members) {
      const auto found = nodes_.find(member.node_id);
      if (found == nodes_.end() || !Alive(found->second, now) ||
          found->second.state.member.heap_id != member.heap_id) {
        missing.push_back(member.node_id);
      }
    }
    return missing;
  }
  // Nodes that report to have been members.
  for (const auto& [id, node] : nodes_) {
    if (!Alive(node, now) && IsSame(node.state.report.was_in(), known)) {
      missing.push_back(id);
    }
  }
  return missing;
}

std::string ManagerCore::WhatMakesComplete(const KnownView& newest,
                                           absl::Time now) const {
  const Missing missing{newest.id, MissingOf(newest, now)};
  if (missing.nodes.empty()) {
    // They are there, but do not know the view themselves.
    for (const auto& [id, node] : nodes_) {
      if (!Alive(node, now) &&
          IsSame(node.state.report.newest_view(), newest)) {
        return absl::StrCat("start or reconnect node ", id,
                            ", which knows view ", newest.id);
      }
    }
  }
  return absl::StrCat("start the others of ", missing.Named(", "));
}

absl::StatusOr<ManagerCore::Recovery> ManagerCore::PlanRecovery(
    absl::Time now) const {
  if (ahead_.empty()) return PlanFromOldCopies(now);
  if (now < leases_until_) {
    return absl::UnavailableError(
        absl::StrCat("earlier leases may be valid for another ",
                     absl::FormatDuration(leases_until_ - now)));
  }
  const View newest = NewestKnown(now);
  const KnownNodes states = States(now);
  Recovery recovery;
  // Any absent member may have been in a later view without the live ones.
  const auto is_there = [&](const Member& member) {
    const auto found = states.find(member.node_id);
    return found != states.end() && found->second.alive &&
           found->second.member.heap_id == member.heap_id &&
           MisfitWhileBehind(found->second, newest, now).empty();
  };
  const std::vector<KnownView> known = AllKnown();
  const bool is_newest =
      std::none_of(known.begin(), known.end(), [&](const KnownView& each) {
        return KnownView{newest.epoch, newest.id, 0}.IsBefore(each);
      });
  const KnownView newest_of_all = is_newest ? KnownOf(newest) : NewestOf(known);
  recovery.rather = WhatMakesComplete(newest_of_all, now);
  recovery.complete =
      is_newest && learned_.epoch == newest.epoch && learned_.id == newest.id &&
      CanGoOn(newest, states) &&
      std::all_of(newest.members.begin(), newest.members.end(), is_there);
  recovery.view = View{options_.cluster_id,
                       newest.id + 1,
                       {},
                       newest.excluded,
                       options_.chain_id};
  for (const Member& member : newest.members) {
    if (!is_there(member)) continue;
    const KnownNode& node = states.at(member.node_id);
    const NodeReport& report = node.report;
    // A node that is behind catches up from a member before it.
    if (report.condition == Condition::kReceiving ||
        (report.condition == Condition::kBehind &&
         recovery.view.members.empty())) {
      continue;
    }
    recovery.view.members.push_back(node.member);
    if (!recovery.complete) {
      recovery.view.recovered_at[member.node_id] = report.cursors.applied;
    }
  }
  if (!CanServe(recovery.view, states)) {
    return CannotGoOn(recovery.view, states,
                      {newest.id, MissingOf(KnownOf(newest), now)},
                      {newest_of_all.id, MissingOf(newest_of_all, now)});
  }
  recovery.view.Agree(newest.in_force);
  recovery.view.epoch = std::max(newest.epoch, uint64_t{1});
  if (!recovery.complete) {
    for (const KnownView& each : known) {
      recovery.view.id = std::max(recovery.view.id, each.id + 1);
      recovery.view.epoch = std::max(recovery.view.epoch, each.epoch);
    }
    ++recovery.view.epoch;
  }
  Succeed(newest, &recovery.view);
  return recovery;
}

absl::StatusOr<ManagerCore::Recovery> ManagerCore::Recover(bool force,
                                                           absl::Time now) {
  if (proposed_.has_value()) {
    return absl::UnavailableError("a view is being stored; try again");
  }
  ASSIGN_OR_RETURN(Recovery recovery, PlanRecovery(now));
  if (!recovery.complete && !force) {
    return absl::FailedPreconditionError(absl::StrCat(
        recovery.holds > 0 && recovery.holds < progress_.acknowledged
            ? absl::StrCat("the nodes that run hold mutations up to ",
                           recovery.holds, ", but those up to ",
                           progress_.acknowledged, " were acknowledged")
            : "the nodes that run may lack mutations that the chain has "
              "acknowledged",
        ": ", recovery.rather, ", or force it; it would be ",
        recovery.view.ToString()));
  }
  proposed_ = recovery.view;
  recovers_ = true;
  excluded_ = recovery.view.excluded;
  return recovery;
}

}  // namespace kamino::membership
