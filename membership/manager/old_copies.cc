#include "membership/manager/old_copies.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

std::string OfEpoch(const NodeReport& report, const View& view) {
  return report.epoch < view.epoch
             ? absl::StrCat(" of recovery epoch ", report.epoch,
                            ", which is over")
             : "";
}

}  // namespace

void OldCopies::NoteProgress() {
  for (const auto& [id, node] : registry_->nodes()) {
    const uint64_t said = std::min(
        AcknowledgedBy(context_->view, node.state.member, node.state.report),
        AppliedByOthers(id));
    if (said <= context_->progress.acknowledged) continue;
    context_->progress.acknowledged = said;
    context_->progress.view_id = context_->view.id;
  }
}

uint64_t OldCopies::AppliedByOthers(const std::string& node_id) const {
  if (context_->view.members.size() == 1) return UINT64_MAX;
  uint64_t applied = 0;
  for (const auto& [id, node] : registry_->nodes()) {
    const NodeReport& report = node.state.report;
    if (id == node_id || !context_->HasPlace(node.state.member) ||
        report.epoch != context_->view.epoch) {
      continue;
    }
    applied = std::max(applied, report.cursors.applied);
  }
  return applied;
}

// Outside the chain, a heap may hold mutations that were never acknowledged.
uint64_t OldCopies::HeldBefore(const Node& known, const Member& member) const {
  const NodeReport& said = known.state.report;
  if (!context_->HasPlace(member) ||
      known.state.member.heap_id != member.heap_id ||
      said.condition == Condition::kBehind ||
      said.condition == Condition::kReceiving) {
    return 0;
  }
  return std::max(known.state.held, said.cursors.applied);
}

absl::Status OldCopies::CheckHoldsAll(const Node& node, absl::Time now) const {
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

std::optional<Shortfall> OldCopies::ShortfallOfNode(const Node& node,
                                                    absl::Time now) const {
  const std::string& id = node.state.member.node_id;
  KnownNodes states = registry_->States(now);
  states[id] = registry_->StateOf(node, now);
  return ShortfallOf(context_->view, states, id);
}

bool OldCopies::IsAbandoned(const Node& node) const {
  const Member& member = node.state.member;
  const NodeReport& report = node.state.report;
  if (report.epoch == 0 || report.epoch >= context_->view.epoch ||
      !context_->HasPlace(member)) {
    return false;
  }
  // The recovery's view names it, but it does not know that view: it still
  // runs, or was restarted on the data that it held.
  const auto recovered = context_->view.recovered_at.find(member.node_id);
  const bool goes_on =
      context_->view.IndexOf(member.node_id, member.incarnation) >= 0 &&
      report.view_id != 0;
  return !goes_on && (recovered == context_->view.recovered_at.end() ||
                      recovered->second != report.cursors.applied);
}

bool OldCopies::FallsShort(const Node& node) const {
  const NodeReport& report = node.state.report;
  return context_->HasPlace(node.state.member) && report.ClaimsAll() &&
         (IsAbandoned(node) ||
          report.cursors.applied < context_->progress.acknowledged);
}

bool OldCopies::IsOfEarlierLife(const Node& node, const Node& known,
                                absl::Time now) const {
  const std::string& id = node.state.member.node_id;
  return node.state.member.IsRestartedAs(known.state.member) &&
         !registry_->Alive(known, now) && FallsShort(node) &&
         !AnotherHoldsAll(id, now);
}

bool OldCopies::AnotherHoldsAll(const std::string& but, absl::Time now) const {
  const KnownNodes states = registry_->States(now);
  return std::any_of(
      context_->view.members.begin(), context_->view.members.end(),
      [&](const Member& member) {
        const auto found = states.find(member.node_id);
        return member.node_id != but && found != states.end() &&
               found->second.alive &&
               context_->HasPlace(found->second.member) &&
               found->second.report.ClaimsAll() &&
               !ShortfallOf(context_->view, states, member.node_id).has_value();
      });
}

absl::Status OldCopies::CheckReturn(const Node& node, absl::Time now) {
  const std::string& id = node.state.member.node_id;
  const NodeReport& report = node.state.report;
  const bool falls_short = FallsShort(node);
  const absl::Status holds =
      IsAbandoned(node)
          ? absl::FailedPreconditionError(absl::StrCat(
                "node ", id, " holds data of recovery epoch ", report.epoch,
                ", mutations up to ", report.cursors.applied,
                "; the chain was recovered by force since, and is in epoch ",
                context_->view.epoch,
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

absl::Status OldCopies::KeepWaiting(const Node& node, absl::Time now) {
  const std::string& id = node.state.member.node_id;
  Node waits = node;
  waits.last_heard = now;
  registry_->KeepWaiting(std::move(waits));
  return absl::UnavailableError(absl::StrCat(
      "node ", id, " is on an old copy of its data: it holds mutations up to ",
      node.state.report.cursors.applied,
      OfEpoch(node.state.report, context_->view), ", and those up to ",
      context_->progress.acknowledged, " were acknowledged in view ",
      context_->progress.view_id, "; it waits for a member that holds them"));
}

const OldCopies::Node* OldCopies::Newest(absl::Time now, bool whole) const {
  const Node* newest = nullptr;
  for (const auto& [id, node] : registry_->waiting()) {
    const NodeReport& report = node.state.report;
    if (!registry_->Alive(node, now) || !FallsShort(node)) continue;
    if (whole && report.condition == Condition::kTorn) continue;
    if (newest == nullptr || RankOf(newest->state.report) < RankOf(report)) {
      newest = &node;
    }
  }
  return newest;
}

std::string OldCopies::WhyWaits(absl::Time now) const {
  if (!context_->view.formed() ||
      CanContinue(context_->view, registry_->States(now)) ||
      AnotherHoldsAll(/*but=*/"", now)) {
    return "";
  }
  const Node* newest = Newest(now, /*whole=*/false);
  if (newest == nullptr) return "";
  return absl::StrCat(
      "the chain waits for newer files: acknowledged up to ",
      context_->progress.acknowledged, " in view ", context_->progress.view_id,
      ", the newest copy is that of ", newest->state.member.node_id, " with ",
      newest->state.report.cursors.applied,
      OfEpoch(newest->state.report, context_->view),
      "; restore newer files of a member, or let the chain go on without the "
      "mutations acknowledged since: kamino admin recover");
}

}  // namespace kamino::membership
