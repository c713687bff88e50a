#include "membership/manager_core.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "membership/view_history.h"

namespace kamino::membership {
namespace {
absl::Status HasToRegister(const std::string& node_id) {
  return absl::NotFoundError(absl::StrCat(
      "node ", node_id, " must register again; the answer says what is wrong"));
}

absl::Status Overtaken(absl::string_view node_id) {
  return absl::UnavailableError(absl::StrCat("a later call of node ", node_id,
                                             " arrived before this one"));
}
}  // namespace

ManagerCore::ManagerCore(ManagerOptions options)
    : options_(std::move(options)),
      invitation_(options_.failure_timeout),
      suspects_(options_.failure_timeout),
      partings_(options_.heartbeat_interval * 3) {
  view_.cluster_id = options_.cluster_id;
  view_.chain_id = options_.chain_id;
}

void ManagerCore::BecomeLeader(const View& view, absl::Duration former_leases,
                               absl::Time now, const Progress& progress,
                               uint64_t lease_term) {
  leading_ = true;
  lease_term_ = lease_term;
  view_ = view;
  view_.cluster_id = options_.cluster_id;
  view_.chain_id = options_.chain_id;
  Propose(std::nullopt);
  excluded_ = view.excluded;
  // A node that is silent for one of our leases from then on holds no other
  // one.
  former_leases_end_ =
      now + std::max(former_leases - options_.lease(), absl::ZeroDuration());
  KnowMembersOf(view, former_leases_end_);
  progress_ =
      view_.formed() ? Later(ProgressIn(view_, progress), progress_) : progress;
  GoByProgress();
  learned_ = View();
  leases_until_ = now + std::max(former_leases, options_.failure_timeout);
  last_call_ = now;
  hold_until_ = view.formed() ? now + options_.takeover_grace : now;
  hear_all_until_ = now + options_.TimeToBeFound();
  away_since_.clear();
  NoteAway({}, now);
  partings_.Clear();
}

void ManagerCore::KnowMembersOf(const View& view, absl::Time last_heard) {
  nodes_.clear();
  waiting_.clear();
  for (const Member& member : view.members) {
    Node& node = nodes_[member.node_id];
    node.state.member = member;
    node.last_heard = last_heard;
  }
}

void ManagerCore::LoseLeadership() {
  suspects_ = Suspects(options_.failure_timeout);
  leading_ = false;
  leader_until_ = absl::InfinitePast();
  finalizing_ = false;
  Propose(std::nullopt);
  nodes_.clear();
  waiting_.clear();
  invitation_.Withdraw();
  refusals_.Clear();
}

void ManagerCore::Observe(absl::Time now) {
  if (now - last_call_ > options_.failure_timeout / 2) {
    hold_until_ = now + options_.failure_timeout;
  }
  last_call_ = std::max(last_call_, now);
}

absl::Status ManagerCore::CheckMember(const std::string& cluster_id,
                                      const Member& member) const {
  if (cluster_id != options_.cluster_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this is the manager of cluster ", options_.cluster_id,
        options_.address.empty() ? "" : absl::StrCat(" at ", options_.address),
        ", not of cluster ", cluster_id,
        "; check the node's --managers and --cluster_id"));
  }
  if (member.node_id.empty() || member.incarnation == 0 ||
      member.service_address.empty() || member.link_addresses.empty() ||
      member.heap_bytes == 0 || member.heap_id.size() != kHeapIdBytes) {
    return absl::InvalidArgumentError(
        "a registration needs node id, incarnation, service address, link "
        "addresses, heap size and heap id");
  }
  bool short_enough = member.node_id.size() <= kMaxNameBytes &&
                      member.service_address.size() <= kMaxAddressBytes &&
                      member.link_addresses.size() <= kMaxLinkAddresses;
  for (const auto& [transport, address] : member.link_addresses) {
    short_enough = short_enough && transport.size() <= kMaxNameBytes &&
                   address.size() <= kMaxAddressBytes;
  }
  if (!short_enough) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a node id has at most ", kMaxNameBytes, " bytes, an address ",
        kMaxAddressBytes, "; a node has at most ", kMaxLinkAddresses,
        " link addresses"));
  }
  const std::string malformed = Malformed(member.agreement);
  return malformed.empty() ? absl::OkStatus()
                           : absl::InvalidArgumentError(malformed);
}

absl::Status ManagerCore::CheckHeap(const Member& member,
                                    absl::Time now) const {
  const Member* other = nullptr;
  if (view_.formed()) {
    other = &view_.head();
  } else {
    for (const auto& [id, node] : nodes_) {
      if (id != member.node_id && Alive(node, now)) other = &node.state.member;
    }
  }
  if (other == nullptr || other->heap_bytes == member.heap_bytes) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " has a heap of ", member.heap_bytes >> 20,
      " MiB, node ", other->node_id, " one of ", other->heap_bytes >> 20,
      " MiB; heaps of one chain are equal"));
}

bool ManagerCore::Binds(const Node& node, absl::Time now) const {
  return Alive(node, now) && (!view_.formed() || HasPlace(node.state.member));
}

absl::Status ManagerCore::InCommon(absl::string_view misfit) {
  if (misfit.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(misfit, "; all nodes of a chain must have it in common"));
}

absl::Status ManagerCore::CheckAgreement(const Member& member,
                                         absl::Time now) const {
  std::string misfit;
  bool kept = false;  // by a member that acts in the view
  for (const auto& [id, node] : nodes_) {
    if (id == member.node_id || !Binds(node, now) || !misfit.empty()) continue;
    // Only restarted members must fit the others.
    if (ActsInView(member) && !ActsInView(node.state.member)) continue;
    misfit = Misfit(member.agreement, member.node_id,
                    node.state.member.agreement, id);
    kept |= Misfit(node.state.member.agreement, id, view_.in_force).empty();
  }
  // When all members are down, all can change together.
  if (misfit.empty() && kept) {
    misfit = Misfit(member.agreement, member.node_id, view_.in_force);
  }
  return InCommon(misfit);
}

void ManagerCore::ForgetMisfits(const Member& member, absl::Time now) {
  if (!HasPlace(member)) return;
  // The same for the levels in force, if a member keeps them: nodes that do not
  // fit could never join, and would be waited for forever.
  const bool keeps =
      Misfit(member.agreement, member.node_id, view_.in_force).empty();
  for (auto it = nodes_.begin(); it != nodes_.end();) {
    const Member& other = it->second.state.member;
    const bool fits =
        Misfit(other.agreement, other.node_id, member.agreement, member.node_id)
            .empty() &&
        (!keeps ||
         Misfit(other.agreement, other.node_id, view_.in_force).empty());
    // It was admitted before members were heard that were not down, and the
    // levels in force must not fall below the ones that they use. Its former
    // data still counts.
    const bool is_proposed =
        proposed_.has_value() &&
        proposed_->IndexOf(other.node_id, other.incarnation) >= 0;
    // It holds no lease, because no view names it.
    if (!fits && ActsInView(member) && !ActsInView(other) && !is_proposed) {
      it->second.last_heard =
          std::min(it->second.last_heard, now - options_.failure_timeout);
    }
    const bool stays =
        HasPlace(other) || other.node_id == member.node_id || fits;
    it = stays ? std::next(it) : nodes_.erase(it);
  }
}

absl::Status ManagerCore::MakeRoom(absl::Time now) {
  if (nodes_.size() < options_.max_nodes) return absl::OkStatus();
  for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
    const Member& member = it->second.state.member;
    if (Alive(it->second, now) || HasPlace(member)) continue;
    nodes_.erase(it);
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      options_.max_nodes,
      " nodes are registered, which is the limit; stop a spare first"));
}

absl::Status ManagerCore::Register(const std::string& cluster_id,
                                   const Member& member,
                                   const NodeReport& report, absl::Time now,
                                   const View& newest) {
  Observe(now);
  const absl::Status ok = TakeIn(cluster_id, member, report, newest, now);
  if (absl::IsFailedPrecondition(ok)) {
    refusals_.Note(member.node_id, ok, now);
  } else if (ok.ok()) {
    refusals_.Forget(member.node_id);
  }
  return ok;
}

absl::Status ManagerCore::TakeIn(const std::string& cluster_id,
                                 const Member& member, const NodeReport& report,
                                 const View& newest, absl::Time now) {
  RETURN_IF_ERROR(CheckMember(cluster_id, member));
  RETURN_IF_ERROR(CheckClaims(member, report));
  RETURN_IF_ERROR(CheckCluster(member, report));
  // A node that the chain would refuse teaches it nothing. But after the store
  // was emptied there is no chain; the first node that comes says nothing about
  // the real one, nor do nodes that the chain has dropped since about its
  // common settings.
  const bool formed = view_.formed();
  if (formed) RETURN_IF_ERROR(CheckHeap(member, now));
  absl::Status ok = CheckHistory(member.node_id, report, newest, now);
  if (ok.ok() || absl::IsUnavailable(ok)) Learn(newest);
  if (!ahead_.empty() && absl::IsUnavailable(ok)) {
    RETURN_IF_ERROR(
        NoteWhileBehind({{.member = member, .report = report}, now}, now));
  }
  if (ok.ok() && !formed) ok = CheckHeap(member, now);
  if (ok.ok()) ok = CheckAgreement(member, now);
  if (!ok.ok()) return ok;
  const auto found = nodes_.find(member.node_id);
  if (found == nodes_.end()) {
    RETURN_IF_ERROR(MakeRoom(now));
  } else if (absl::Status taken = CheckTakeover(found->second, member, now);
             !taken.ok()) {
    const Node node{{.member = member, .report = report}, now};
    return IsOfEarlierLife(node, found->second, now) ? KeepWaiting(node, now)
                                                     : taken;
  }
  if (found != nodes_.end() &&
      report.IsOvertakenBy(found->second.state.report)) {
    return Overtaken(member.node_id);
  }
  HeedDispute(member, report);
  if (found != nodes_.end() && Leaves(found->second, now)) {
    return absl::UnavailableError(
        absl::StrCat("node ", member.node_id, " is being removed"));
  }
  if (proposed_.has_value() && ActsInView(member) &&
      proposed_->IndexOf(member.node_id, member.incarnation) < 0) {
    return absl::UnavailableError(absl::StrCat(
        "node ", member.node_id, " is being dropped from the view"));
  }
  Node node;
  node.state.member = member;
  node.state.report = report;
  node.last_heard = now;
  node.heard = true;
  if (found != nodes_.end()) {
    node.state.held = HeldBefore(found->second, member);
    node.last_heard = HeardAt(report, found->second.last_heard, now);
  }
  if (absl::Status holds = CheckReturn(node, now); !holds.ok()) {
    // Its former process may be alive, and is dropped only when silent.
    if (found != nodes_.end()) found->second.state.turned_away = true;
    return holds;
  }
  waiting_.erase(member.node_id);
  nodes_[member.node_id] = std::move(node);
  NoteProgress();
  ForgetMisfits(member, now);
  return CheckOthersHeard(member, now);
}

bool ManagerCore::ActsInView(const Member& member) const {
  return view_.IndexOf(member.node_id, member.incarnation) >= 0;
}

bool ManagerCore::HasPlace(const Member& member) const {
  return std::any_of(
      view_.members.begin(), view_.members.end(), [&](const Member& each) {
        return each.node_id == member.node_id && each.heap_id == member.heap_id;
      });
}

absl::Status ManagerCore::CheckTakeover(const Node& known, const Member& member,
                                        absl::Time now) const {
  const Member& there = known.state.member;
  if (there.incarnation == member.incarnation) {
    if (there.service_address == member.service_address) {
      return absl::OkStatus();
    }
    // A process has one address: these are two processes on copies of one
    // folder.
    return absl::AlreadyExistsError(absl::StrCat(
        "node ", member.node_id, " runs at ", there.service_address,
        " with the same incarnation: the files here are a copy of its files; "
        "move them away, and give the node another id"));
  }
  // Outside the chain no lease counts.
  if (!HasPlace(there) && there.incarnation < member.incarnation &&
      there.service_address == member.service_address) {
    return absl::OkStatus();
  }
  if (there.IsRestartedAs(member)) {
    if (there.service_address == member.service_address ||
        now - known.last_heard >= options_.lease()) {
      return absl::OkStatus();
    }
    return absl::AlreadyExistsError(absl::StrCat(
        "node ", member.node_id, " was alive at ", there.service_address,
        " a moment ago; if it still is, the files here are a copy of its "
        "files: move them away, and give the node another id"));
  }
  if (member.IsRestartedAs(there)) {
    return absl::AlreadyExistsError(
        absl::StrCat("node ", member.node_id, " was started again since, at ",
                     there.service_address,
                     "; if no other process of it runs, its files are a stale "
                     "copy: move them away, and it joins as a new node"));
  }
  if (!Alive(known, now)) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(
      "a node ", member.node_id, " is alive at ", there.service_address));
}

absl::Status ManagerCore::Heartbeat(const std::string& cluster_id,
                                    const Beat& beat, absl::Time now) {
  Observe(now);
  const auto found = nodes_.find(beat.node_id);
  // A node that was silent for too long may be dropped at any moment, so it
  // must register again; the next view may not include it.
  if (cluster_id != options_.cluster_id || found == nodes_.end() ||
      found->second.state.member.incarnation != beat.incarnation ||
      !Alive(found->second, now)) {
    return absl::NotFoundError(
        absl::StrCat("node ", beat.node_id, " is not registered"));
  }
  const Member& member = found->second.state.member;
  if (beat.report.IsOvertakenBy(found->second.state.report)) {
    return Overtaken(beat.node_id);
  }
  HeedDispute(member, beat.report);
  if (Leaves(found->second, now)) {
    return absl::NotFoundError(
        absl::StrCat("node ", beat.node_id, " is being removed"));
  }
  if (!CheckClaims(member, beat.report).ok() || IsAhead(beat.report) ||
      !CheckHistory(beat.node_id, beat.report, View(), now).ok()) {
    return HasToRegister(beat.node_id);
  }
  Node node = found->second;
  node.last_heard = HeardAt(beat.report, node.last_heard, now);
  node.heard = true;
  node.state.report = beat.report;
  if (beat.report.heap_id.size() == kHeapIdBytes) {
    node.state.member.heap_id = beat.report.heap_id;  // it joins anew
  }
  node.state.turned_away = false;
  if (!HasPlace(node.state.member)) node.state.held = 0;
  if (!CheckHoldsAll(node, now).ok()) {
    return HasToRegister(beat.node_id);
  }
  found->second = std::move(node);
  NoteProgress();
  return CheckOthersHeard(member, now);
}

bool ManagerCore::ShouldJoin(const std::string& node_id, absl::Time now) {
  Exclusions excluded = excluded_;
  suspects_.AddKeptOut(now, &excluded);
  invitation_.Look(WithoutGone(now), States(now), options_.chain_length,
                   excluded, now);
  return invitation_.holder() == node_id;
}

// Heartbeats come at different moments: if all members stop together, one
// exceeds its time before the others do. A live member, however, is never
// silent for half of that time.
bool ManagerCore::HearsAMember(absl::Time now) const {
  for (const Member& member : view_.members) {
    const auto found = nodes_.find(member.node_id);
    if (found != nodes_.end() &&
        now - found->second.last_heard < options_.failure_timeout / 2) {
      return true;
    }
  }
  return false;
}

void ManagerCore::Propose(std::optional<View> view) {
  proposed_ = std::move(view);
  recovers_ = false;
}

std::optional<View> ManagerCore::ProposeView(absl::Time now) {
  Observe(now);
  if (!IsLeader(now)) return std::nullopt;
  ForgetOldClaims(now);
  // The proposed view of a store that is behind is not written any more. If it
  // is already stored, the next renewal shows it.
  if (!ahead_.empty() && !recovers_) Propose(std::nullopt);
  if (proposed_.has_value()) return proposed_;
  if (!ahead_.empty()) return std::nullopt;
  const KnownNodes states = States(now);
  proposed_ = HandedOver(now);
  if (!proposed_.has_value()) {
    if (view_.formed() && (!CanGoOn(view_, states) || !HearsAMember(now))) {
      hold_until_ = now + options_.failure_timeout;
    }
    if (view_.formed() && now < hold_until_) {
      suspects_.LetGo();
      return std::nullopt;
    }
    if (view_.formed()) suspects_.Look(view_, states, now);
    proposed_ =
        NextView(WithoutGone(now), states, options_.chain_length, excluded_);
  }
  if (proposed_.has_value() &&
      !partings_.MayFollow(view_, *proposed_, states, excluded_, now)) {
    proposed_.reset();
    return std::nullopt;
  }
  if (proposed_.has_value()) {
    proposed_->Agree(view_.in_force);
  } else {
    proposed_ = FinalizedView();
  }
  if (!proposed_.has_value()) return std::nullopt;
  Succeed(view_, &*proposed_);
  return proposed_;
}

void ManagerCore::OnViewStored(const View& view) {
  suspects_.OnView(view_, view, last_call_);
  // Reports from before a forced recovery no longer count.
  if (view.id > view_.id && !view.recovered_at.empty()) {
    KnowMembersOf(view, last_call_);
  }
  HeedFormerLeases(view);
  view_ = view;
  view_.cluster_id = options_.cluster_id;
  view_.chain_id = options_.chain_id;
  if (!ahead_.empty() && !Outruns(ahead_view_, view_)) ahead_.clear();
  progress_ = ProgressIn(view_, progress_);
  partings_.OnView(view_);
  NoteAway({}, last_call_);
  Propose(std::nullopt);
  finalizing_ = finalizing_ && !NotFinalized().empty();
  ForgetMisfits();
}

std::vector<std::string> ManagerCore::WaitingFor(absl::Time now) const {
  std::vector<std::string> missing;
  std::vector<std::string> lost;
  const KnownNodes states = States(now);
  if (!view_.formed()) return missing;
  if (CanGoOn(view_, states)) {
    for (const Member& member : view_.members) {
      if (KeepsPlace(member, now)) missing.push_back(member.node_id);
    }
    return missing;
  }
  for (const Member& member : view_.members) {
    const auto found = states.find(member.node_id);
    if (found == states.end()) {
      missing.push_back(member.node_id);
    } else if (found->second.turned_away ||
               (found->second.alive &&
                found->second.member.heap_id != member.heap_id)) {
      lost.push_back(member.node_id);
    } else if (!found->second.alive) {
      missing.push_back(member.node_id);
    }
  }
  return missing.empty() ? lost : missing;
}

}  // namespace kamino::membership
