#include "membership/manager/manager_core.h"

#include <algorithm>
#include <utility>

#include "membership/view_history.h"

namespace kamino::membership {

ManagerCore::ManagerCore(ManagerOptions options)
    : context_(std::move(options)),
      places_(&context_),
      registry_(&context_, &places_),
      watch_(&context_, &registry_),
      old_copies_(&context_, &registry_),
      stops_(&context_, &places_, &registry_, &watch_),
      removals_(&context_, &registry_, &watch_),
      finalizing_(&context_, &registry_, &watch_),
      recoveries_(&context_, &registry_, &watch_, &old_copies_),
      registrations_(&context_, &registry_, &watch_, &old_copies_, &removals_),
      invitation_(context_.options.failure_timeout),
      hold_ups_(context_.options.failure_timeout) {}

void ManagerCore::BecomeLeader(const View& view, absl::Duration former_leases,
                               absl::Time now, const Progress& progress,
                               uint64_t lease_term) {
  leading_ = true;
  context_.SetView(view);
  context_.Propose(std::nullopt);
  context_.excluded = view.excluded;
  registry_.Begin(former_leases, lease_term, now);
  context_.progress = view.formed() ? Later(ProgressIn(context_.view, progress),
                                            context_.progress)
                                    : progress;
  watch_.Begin(former_leases, now);
  hold_ups_.Begin(
      view.formed() ? options().takeover_grace : absl::ZeroDuration(), now);
  places_.Clear();
  places_.NoteAway({}, now);
  stops_.Clear();
}

void ManagerCore::LoseLeadership() {
  removals_.ForgetSuspects();
  leading_ = false;
  leader_until_ = absl::InfinitePast();
  finalizing_.Cancel();
  context_.Propose(std::nullopt);
  registry_.Clear();
  invitation_.Withdraw();
  registrations_.ForgetRefusals();
}

absl::Status ManagerCore::Register(const std::string& cluster_id,
                                   const Member& member,
                                   const NodeReport& report, absl::Time now,
                                   const View& newest) {
  hold_ups_.Observe(now);
  return registrations_.Register(cluster_id, member, report, newest, now);
}

absl::Status ManagerCore::Heartbeat(const std::string& cluster_id,
                                    const Beat& beat, absl::Time now) {
  hold_ups_.Observe(now);
  return registrations_.Heartbeat(cluster_id, beat, now);
}

bool ManagerCore::ShouldJoin(const std::string& node_id, absl::Time now) {
  invitation_.Look(places_.WithoutGone(now), registry_.States(now),
                   options().chain_length, removals_.KeptOut(now), now);
  return invitation_.holder() == node_id;
}

std::vector<ManagerCore::Known> ManagerCore::nodes(absl::Time now) const {
  std::vector<Known> known;
  const Suspects& suspects = removals_.suspects();
  for (const auto& [id, former] : registry_.nodes()) {
    const NodeRegistry::Node* const waits = registry_.FindWaiting(id);
    const bool waits_now = waits != nullptr && registry_.Alive(*waits, now);
    const NodeRegistry::Node& node = waits_now ? *waits : former;
    known.push_back({registry_.StateOf(node, now),
                     std::max(now - node.last_heard, absl::ZeroDuration()),
                     id == invitation_.holder(), suspects.Is(id),
                     suspects.KeptOut(id, now),
                     std::max(node.last_heard - now, absl::ZeroDuration())});
  }
  return known;
}

std::optional<View> ManagerCore::ProposeView(absl::Time now) {
  hold_ups_.Observe(now);
  if (!IsLeader(now)) return std::nullopt;
  if (watch_.ForgetOldClaims(now)) {
    // Like a new leader that has heard no node yet.
    registry_.KnowMembersOf(context_.view, now);
    hold_ups_.Hold(options().takeover_grace, now);
  }
  // The proposed view of a store that is behind is not written any more. If it
  // is already stored, the next renewal shows it.
  if (watch_.behind() && !context_.recovers) context_.Propose(std::nullopt);
  if (context_.proposed.has_value()) return context_.proposed;
  if (watch_.behind()) return std::nullopt;
  const KnownNodes states = registry_.States(now);
  context_.proposed = stops_.HandedOver(now);
  if (!context_.proposed.has_value()) {
    if (context_.view.formed() &&
        (!CanContinue(context_.view, states) || !registry_.HearsAMember(now))) {
      hold_ups_.Hold(options().failure_timeout, now);
    }
    if (context_.view.formed() && hold_ups_.holds(now)) {
      removals_.suspects().LetGo();
      return std::nullopt;
    }
    if (context_.view.formed()) {
      removals_.suspects().Look(context_.view, states, now);
    }
    context_.proposed =
        NextView(places_.WithoutGone(now), states,
                 context_.options.chain_length, context_.excluded);
  }
  if (context_.proposed.has_value() &&
      !stops_.MayFollow(*context_.proposed, states, now)) {
    context_.proposed.reset();
    return std::nullopt;
  }
  if (context_.proposed.has_value()) {
    context_.proposed->Agree(context_.view.in_force);
  } else {
    context_.proposed = finalizing_.FinalizedView();
  }
  if (!context_.proposed.has_value()) return std::nullopt;
  Succeed(context_.view, &*context_.proposed);
  return context_.proposed;
}

void ManagerCore::OnViewStored(const View& view) {
  const absl::Time now = hold_ups_.last_call();
  removals_.suspects().OnView(context_.view, view, now);
  // Reports from before a forced recovery no longer count.
  if (view.id > context_.view.id && !view.recovered_at.empty()) {
    registry_.KnowMembersOf(view, now);
  }
  registry_.OnView(view);
  context_.SetView(view);
  watch_.OnView();
  context_.progress = ProgressIn(context_.view, context_.progress);
  stops_.OnView();
  places_.NoteAway({}, now);
  context_.Propose(std::nullopt);
  finalizing_.OnView();
  registrations_.OnView();
}

}  // namespace kamino::membership
