#include "membership/manager/store_recovery.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "membership/manager/next_view.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {

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
  if (able.members.size() != 1) return CanContinue(able, nodes);
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
absl::Status CannotContinue(const View& there, const KnownNodes& nodes,
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

}  // namespace

std::vector<KnownView> StoreRecovery::AllKnown() const {
  std::vector<KnownView> all = {
      {context_->view.epoch, context_->view.id, 0},
      {watch_->learned().epoch, watch_->learned().id, 0}};
  if (watch_->behind()) all.push_back(watch_->ahead_view());
  for (const auto& [id, node] : registry_->nodes()) {
    all.push_back(node.state.report.newest_view());
  }
  return all;
}

std::vector<std::string> StoreRecovery::MissingOf(const KnownView& known,
                                                  absl::Time now) const {
  std::vector<std::string> missing;
  for (const View* view : {&watch_->learned(), &context_->view}) {
    if (!IsSame(known, *view)) continue;
    for (const Member& member : view->members) {
      const Node* const found = registry_->Find(member.node_id);
      if (found == nullptr || !registry_->Alive(*found, now) ||
          found->state.member.heap_id != member.heap_id) {
        missing.push_back(member.node_id);
      }
    }
    return missing;
  }
  // Nodes that report to have been members.
  for (const auto& [id, node] : registry_->nodes()) {
    if (!registry_->Alive(node, now) &&
        IsSame(node.state.report.was_in(), known)) {
      missing.push_back(id);
    }
  }
  return missing;
}

std::string StoreRecovery::WhatMakesComplete(const KnownView& newest,
                                             absl::Time now) const {
  const Missing missing{newest.id, MissingOf(newest, now)};
  if (missing.nodes.empty()) {
    // They are there, but do not know the view themselves.
    for (const auto& [id, node] : registry_->nodes()) {
      if (!registry_->Alive(node, now) &&
          IsSame(node.state.report.newest_view(), newest)) {
        return absl::StrCat("start or reconnect node ", id,
                            ", which knows view ", newest.id);
      }
    }
  }
  return absl::StrCat("start the others of ", missing.Named(", "));
}

absl::StatusOr<RecoveryPlan> StoreRecovery::Plan(absl::Time now) const {
  RETURN_IF_ERROR(watch_->CheckLeasesEnded(now));
  const View& learned = watch_->learned();
  const View newest = watch_->NewestKnown(now);
  const KnownNodes states = registry_->States(now);
  RecoveryPlan recovery;
  // Any absent member may have been in a later view without the live ones.
  const auto is_there = [&](const Member& member) {
    const auto found = states.find(member.node_id);
    return found != states.end() && found->second.alive &&
           found->second.member.heap_id == member.heap_id &&
           watch_->MismatchWhileBehind(found->second, newest, now).empty();
  };
  const std::vector<KnownView> known = AllKnown();
  const bool is_newest =
      std::none_of(known.begin(), known.end(), [&](const KnownView& each) {
        return KnownView{newest.epoch, newest.id, 0}.IsBefore(each);
      });
  const KnownView newest_of_all = is_newest ? KnownOf(newest) : NewestOf(known);
  recovery.rather = WhatMakesComplete(newest_of_all, now);
  recovery.complete =
      is_newest && learned.epoch == newest.epoch && learned.id == newest.id &&
      CanContinue(newest, states) &&
      std::all_of(newest.members.begin(), newest.members.end(), is_there);
  recovery.view = View{context_->options.cluster_id,
                       newest.id + 1,
                       {},
                       newest.excluded,
                       context_->options.chain_id};
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
    return CannotContinue(recovery.view, states,
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

}  // namespace kamino::membership
