#include "membership/manager/store_watch.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "membership/agreement.h"
#include "membership/manager/claims.h"
#include "membership/manager/common_settings.h"
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

void StoreWatch::Begin(absl::Duration former_leases, absl::Time now) {
  GoByProgress();
  learned_ = View();
  leases_until_ =
      now + std::max(former_leases, context_->options.failure_timeout);
  hear_all_until_ = now + context_->options.TimeToBeFound();
}

void StoreWatch::OnView() {
  if (!ahead_.empty() && !IsAheadOf(ahead_view_, context_->view)) {
    ahead_.clear();
  }
}

std::string StoreWatch::WhyBehind() const {
  if (ahead_.empty()) return "";
  return absl::StrCat(
      "the views stored at etcd are not the newest: there is ",
      Named(context_->view), ", but ", ahead_, " ",
      ahead_view_.id == context_->view.id ? "another " : "", "view ",
      ahead_view_.id,
      ahead_view_.id < context_->view.id
          ? absl::StrCat(" of recovery epoch ", ahead_view_.epoch)
          : "",
      "; no node gets a lease until the newest copy of etcd is restored, or "
      "the chain goes on from the data of its nodes: kamino admin recover");
}

void StoreWatch::GoByProgress() {
  ahead_.clear();
  if (context_->progress.cluster_uuid.empty() ||
      (context_->view.formed() &&
       context_->progress.cluster_uuid != context_->view.cluster_uuid)) {
    return;
  }
  const KnownView known{context_->progress.epoch, context_->progress.view_id,
                        0};
  if (!IsAheadOf(known, context_->view)) return;
  ahead_ = "a former leader used";
  ahead_view_ = known;
  ahead_said_ = absl::InfiniteFuture();
}

bool StoreWatch::ForgetOldClaims(absl::Time now) {
  if (ahead_.empty() || now - ahead_said_ < kBelievedFor) return false;
  GoByProgress();
  learned_ = View();
  hear_all_until_ = now + context_->options.TimeToBeFound();
  return true;
}

bool StoreWatch::IsAhead(const NodeReport& report) const {
  return IsAheadOf(report.newest_view(), context_->view);
}

absl::Status StoreWatch::CheckHistory(const std::string& node_id,
                                      const NodeReport& report,
                                      const View& newest_in_full,
                                      absl::Time now) {
  const KnownView newest = report.newest_view();
  const Kinship kinship = KinshipOf(newest, context_->view);
  if (kinship == Kinship::kAbandoned && report.view_id >= context_->view.id) {
    return absl::FailedPreconditionError(
        absl::StrCat("node ", node_id, " is in view ", report.view_id,
                     " of recovery epoch ", report.view_epoch,
                     "; the chain was recovered by force since, and is in ",
                     Named(context_->view), " of epoch ", context_->view.epoch,
                     ": start the node again"));
  }
  if (kinship == Kinship::kAnother && newest.id < context_->view.id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "node ", node_id, " knows another view ", newest.id,
        " than the one before ", Named(context_->view),
        ": its data is of another history of cluster ",
        context_->options.cluster_id,
        " and is left as it is; move its files away and start it again: it "
        "joins as a new node"));
  }
  const bool ahead = IsAhead(report);
  if (ahead) {
    const std::string lacks = Unshown(report, newest_in_full, context_->view);
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
      leases_until_ =
          std::max(leases_until_, now + context_->options.failure_timeout);
    }
    ahead_ = absl::StrCat("node ", node_id, " knows");
    ahead_view_ = newest;
  }
  return ahead_.empty() ? absl::OkStatus()
                        : absl::UnavailableError(WhyBehind());
}

void StoreWatch::Learn(const View& view) {
  if (!IsWhole(view, context_->view)) return;
  // An older program does not report the levels in force.
  const bool tells_more =
      view.id == learned_.id && view.epoch == learned_.epoch &&
      view.digest == learned_.digest && learned_.in_force.empty();
  if (tells_more ||
      KnownView{learned_.epoch, learned_.id}.IsBefore({view.epoch, view.id})) {
    learned_ = view;
  }
}

absl::Status StoreWatch::NoteWhileBehind(const Node& node, absl::Time now) {
  const Member& member = node.state.member;
  RETURN_IF_ERROR(
      InCommon(MismatchWhileBehind(node.state, NewestKnown(now), now)));
  Node* const found = registry_->FindMutable(member.node_id);
  if (found == nullptr) {
    if (registry_->MakeRoom(now).ok()) registry_->Put(node);
    return absl::OkStatus();
  }
  // Only the old store describes a node that has not registered itself.
  if (found->state.report != NodeReport()) {
    RETURN_IF_ERROR(registry_->CheckTakeover(*found, member, now));
  }
  *found = node;
  return absl::OkStatus();
}

// A view that drops a member gets the chain's data from another member of the
// view before. The dropped member may not know of it; with a lease by an older
// store it would serve beside the members that continue.
absl::Status StoreWatch::CheckOthersHeard(const Member& member,
                                          absl::Time now) const {
  if (!awaits_members(now) || !context_->ActsInView(member)) {
    return absl::OkStatus();
  }
  for (const Member& each : context_->view.members) {
    const Node* const found = registry_->Find(each.node_id);
    if (found != nullptr && found->heard) continue;
    return absl::UnavailableError(absl::StrCat(
        "this manager has just begun to lead, and waits to hear from node ",
        each.node_id, " before it grants leases; try again"));
  }
  return absl::OkStatus();
}

absl::Status StoreWatch::CheckLeasesEnded(absl::Time now) const {
  if (now >= leases_until_) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("earlier leases may be valid for another ",
                   absl::FormatDuration(leases_until_ - now)));
}

View StoreWatch::NewestKnown(absl::Time now) const {
  KnownView newest{context_->view.epoch, context_->view.id};
  for (const auto& [id, node] : registry_->nodes()) {
    const KnownView known = node.state.report.newest_view();
    if (registry_->Alive(node, now) && newest.IsBefore(known)) newest = known;
  }
  if (IsSame(newest, learned_)) return learned_;
  if (IsSame(newest, context_->view)) return context_->view;
  // All its members were restarted: the one that holds more was further ahead.
  View view{context_->options.cluster_id,
            newest.id,
            {},
            {},
            context_->options.chain_id};
  view.epoch = newest.epoch;
  std::vector<const KnownNode*> held;
  for (const auto& [id, node] : registry_->nodes()) {
    const NodeReport& report = node.state.report;
    if (registry_->Alive(node, now) && report.member_view == newest.id &&
        report.epoch == newest.epoch) {
      held.push_back(&node.state);
      if (view.cluster_uuid.empty()) view.cluster_uuid = report.cluster_uuid;
    }
  }
  std::stable_sort(held.begin(), held.end(), IsFurther);
  for (const KnownNode* node : held) view.members.push_back(node->member);
  return view;
}

std::string StoreWatch::MismatchWhileBehind(const KnownNode& node,
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
  for (const auto& [id, other] : registry_->nodes()) {
    const Member& there = other.state.member;
    if (!registry_->Alive(other, now) || !acts_in_it(there) ||
        !MismatchOf(there.agreement, id, newest.in_force).empty()) {
      continue;
    }
    std::string mismatch =
        MismatchOf(member.agreement, member.node_id, there.agreement, id);
    if (mismatch.empty()) {
      mismatch = MismatchOf(member.agreement, member.node_id, newest.in_force);
    }
    if (!mismatch.empty()) return mismatch;
  }
  return "";
}

}  // namespace kamino::membership
