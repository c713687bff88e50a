#include "membership/manager/registrations.h"

#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "membership/agreement.h"
#include "membership/manager/claims.h"

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

absl::Status Registrations::CheckMember(const std::string& cluster_id,
                                        const Member& member) const {
  if (cluster_id != context_->options.cluster_id) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this is the manager of cluster ", context_->options.cluster_id,
        context_->options.address.empty()
            ? ""
            : absl::StrCat(" at ", context_->options.address),
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

absl::Status Registrations::CheckClaims(const Member& member,
                                        const NodeReport& report) const {
  std::string why = Absurd(report, context_->view);
  const Node* const known = registry_->Find(member.node_id);
  if (why.empty() && known != nullptr &&
      known->state.member.heap_id == member.heap_id) {
    why =
        AbsurdIncarnation(member.incarnation, known->state.member.incarnation);
  }
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " sends an invalid report: ", why,
      ": check its machine's memory, then start it again; if it reports the "
      "same then, move its files away: it joins as a new node"));
}

absl::Status Registrations::CheckCluster(const Member& member,
                                         const NodeReport& report) const {
  if (context_->view.cluster_uuid.empty() || report.cluster_uuid.empty() ||
      context_->view.cluster_uuid == report.cluster_uuid) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "node ", member.node_id, " holds data of another cluster named ",
      context_->options.cluster_id, ", of uuid ",
      absl::BytesToHexString(report.cluster_uuid),
      "; the uuid of this cluster is ",
      absl::BytesToHexString(context_->view.cluster_uuid),
      ": its --managers has an address that is wrong or is used by this "
      "cluster now; name the managers of its cluster. If the node is meant for "
      "this cluster, start it with another --data_dir"));
}

absl::Status Registrations::Register(const std::string& cluster_id,
                                     const Member& member,
                                     const NodeReport& report,
                                     const View& newest, absl::Time now) {
  const absl::Status ok = TakeIn(cluster_id, member, report, newest, now);
  if (absl::IsFailedPrecondition(ok)) {
    refusals_.Note(member.node_id, ok, now);
  } else if (ok.ok()) {
    refusals_.Forget(member.node_id);
  }
  return ok;
}

absl::Status Registrations::TakeIn(const std::string& cluster_id,
                                   const Member& member,
                                   const NodeReport& report, const View& newest,
                                   absl::Time now) {
  RETURN_IF_ERROR(CheckMember(cluster_id, member));
  RETURN_IF_ERROR(CheckClaims(member, report));
  RETURN_IF_ERROR(CheckCluster(member, report));
  // A node that the chain would refuse teaches it nothing. After the store was
  // emptied there is no chain to compare with: the first node to register may
  // differ from the real chain, and so may a node that the chain has dropped
  // since.
  const bool formed = context_->view.formed();
  if (formed) RETURN_IF_ERROR(settings_.CheckHeap(member, now));
  absl::Status ok = watch_->CheckHistory(member.node_id, report, newest, now);
  if (ok.ok() || absl::IsUnavailable(ok)) watch_->Learn(newest);
  if (watch_->behind() && absl::IsUnavailable(ok)) {
    RETURN_IF_ERROR(watch_->NoteWhileBehind(
        {{.member = member, .report = report}, now}, now));
  }
  if (ok.ok() && !formed) ok = settings_.CheckHeap(member, now);
  if (ok.ok()) ok = settings_.CheckAgreement(member, now);
  if (!ok.ok()) return ok;
  Node* const found = registry_->FindMutable(member.node_id);
  if (found == nullptr) {
    RETURN_IF_ERROR(registry_->MakeRoom(now));
  } else if (absl::Status taken = registry_->CheckTakeover(*found, member, now);
             !taken.ok()) {
    const Node node{{.member = member, .report = report}, now};
    return copies_->IsOfEarlierLife(node, *found, now)
               ? copies_->KeepWaiting(node, now)
               : taken;
  }
  if (found != nullptr && report.IsOvertakenBy(found->state.report)) {
    return Overtaken(member.node_id);
  }
  removals_->HeedDivergence(member, report);
  if (found != nullptr && removals_->Leaves(found->state.member, now)) {
    return absl::UnavailableError(
        absl::StrCat("node ", member.node_id, " is being removed"));
  }
  if (context_->proposed.has_value() && context_->ActsInView(member) &&
      context_->proposed->IndexOf(member.node_id, member.incarnation) < 0) {
    return absl::UnavailableError(absl::StrCat(
        "node ", member.node_id, " is being dropped from the view"));
  }
  Node node;
  node.state.member = member;
  node.state.report = report;
  node.last_heard = now;
  node.heard = true;
  if (found != nullptr) {
    node.state.held = copies_->HeldBefore(*found, member);
    node.last_heard =
        registry_->leases().HeardAt(report, found->last_heard, now);
  }
  if (absl::Status holds = copies_->CheckReturn(node, now); !holds.ok()) {
    // Its former process may be alive, and is dropped only when silent.
    if (found != nullptr) found->state.turned_away = true;
    return holds;
  }
  registry_->EndWait(member.node_id);
  registry_->Put(std::move(node));
  copies_->NoteProgress();
  settings_.ForgetMismatches(member, now);
  return watch_->CheckOthersHeard(member, now);
}

absl::Status Registrations::Heartbeat(const std::string& cluster_id,
                                      const Beat& beat, absl::Time now) {
  Node* const found = registry_->FindMutable(beat.node_id);
  // A node that was silent for too long may be dropped at any moment, so it
  // must register again; the next view may not include it.
  if (cluster_id != context_->options.cluster_id || found == nullptr ||
      found->state.member.incarnation != beat.incarnation ||
      !registry_->Alive(*found, now)) {
    return absl::NotFoundError(
        absl::StrCat("node ", beat.node_id, " is not registered"));
  }
  const Member& member = found->state.member;
  if (beat.report.IsOvertakenBy(found->state.report)) {
    return Overtaken(beat.node_id);
  }
  removals_->HeedDivergence(member, beat.report);
  if (removals_->Leaves(member, now)) {
    return absl::NotFoundError(
        absl::StrCat("node ", beat.node_id, " is being removed"));
  }
  if (!CheckClaims(member, beat.report).ok() || watch_->IsAhead(beat.report) ||
      !watch_->CheckHistory(beat.node_id, beat.report, View(), now).ok()) {
    return HasToRegister(beat.node_id);
  }
  Node node = *found;
  node.last_heard =
      registry_->leases().HeardAt(beat.report, node.last_heard, now);
  node.heard = true;
  node.state.report = beat.report;
  if (beat.report.heap_id.size() == kHeapIdBytes) {
    node.state.member.heap_id = beat.report.heap_id;  // it joins anew
  }
  node.state.turned_away = false;
  if (!context_->HasPlace(node.state.member)) node.state.held = 0;
  if (!copies_->CheckHoldsAll(node, now).ok()) {
    return HasToRegister(beat.node_id);
  }
  *found = std::move(node);
  copies_->NoteProgress();
  return watch_->CheckOthersHeard(member, now);
}

}  // namespace kamino::membership
