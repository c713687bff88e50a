#include "membership/agent/known_chain.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "rpc/cluster_identity.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::ViewRecord;

// The outline of a view that fits into a request: its id, its members, and the
// levels in force. Levels of 0 bind no node, and there may be many of them, so
// they are left out.
ViewRecord Outline(const ViewRecord& record) {
  ViewRecord outline = record;
  for (kamino::v1::Member& member : *outline.mutable_members()) {
    member.clear_address();
    member.mutable_instance()->clear_link_addresses();
    member.mutable_instance()->clear_agreement_ranges();
  }
  outline.clear_in_force();
  for (const auto& [name, value] : record.in_force()) {
    if (value > 0) (*outline.mutable_in_force())[name] = value;
  }
  return outline;
}

}  // namespace

KnownChain::KnownChain(std::string cluster_id, ChainId chain_id)
    : cluster_id_(std::move(cluster_id)), chain_id_(chain_id) {}

void KnownChain::SetReport(const NodeReport& report) {
  const NodeReport before = report_;
  report_ = report;
  report_.call = before.call;
  if (before.view_id <= report.view_id) return;
  report_.view_id = before.view_id;
  report_.view_digest = before.view_digest;
  report_.view_epoch = before.view_epoch;
}

const NodeReport& KnownChain::NextReport(absl::Duration late, uint64_t process,
                                         Stopping stopping) {
  report_.late = late;
  report_.process = process;
  report_.stopping = stopping;
  ++report_.call;
  return report_;
}

void KnownChain::SetView(const ViewRecord& record) { view_ = Outline(record); }

std::string KnownChain::OwnCluster() const {
  return rpc::ClusterName(cluster_id_,
                          absl::BytesToHexString(view_.cluster_uuid().empty()
                                                     ? report_.cluster_uuid
                                                     : view_.cluster_uuid()));
}

absl::Status KnownChain::Check(ChainId chain_id, const ViewRecord& view,
                               const KnownView& newest) const {
  if (chain_id != chain_id_) {
    return absl::FailedPreconditionError(
        absl::StrCat("it answers for chain ", chain_id,
                     "; this node is one of chain ", chain_id_));
  }
  if (view.view_id() != 0 &&
      (view.cluster_id() != cluster_id_ || view.chain_id() != chain_id_ ||
       view.members().empty())) {
    return absl::FailedPreconditionError(
        absl::StrCat("it sends a view of ", view.members_size(),
                     " members of chain ", view.chain_id(), " of cluster ",
                     view.cluster_id(), "; this node is one of chain ",
                     chain_id_, " of cluster ", cluster_id_));
  }
  RETURN_IF_ERROR(CheckCluster(view));
  return CheckHistory(newest);
}

absl::Status KnownChain::CheckCluster(const ViewRecord& view) const {
  if (view.cluster_uuid().empty() || report_.cluster_uuid.empty() ||
      view.cluster_uuid() == report_.cluster_uuid) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "it leads another cluster named ", cluster_id_,
      " than the one of this node's data: the two have different uuids"));
}

absl::Status KnownChain::CheckHistory(const KnownView& newest) const {
  KnownView known{report_.epoch, report_.member_view, 0};
  const KnownView last{view_.epoch(), view_.view_id(), view_.digest()};
  if (!last.IsBefore(known)) known = last;
  const bool another = newest.id == last.id && newest.digest != 0 &&
                       last.digest != 0 && newest.digest != last.digest;
  if (!newest.IsBefore(known) && !another) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "its newest view is ", another ? "another " : "", newest.id,
      ", this node knows view ", known.id,
      ": the store of views was emptied or restored from an older copy"));
}

}  // namespace kamino::membership
