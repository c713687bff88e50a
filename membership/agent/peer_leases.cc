#include "membership/agent/peer_leases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::membership {
namespace {

using kamino::internal::v1::VouchRequest;

// One request may be lost or late.
constexpr int kMostMissed = 1;

}  // namespace

void PeerLeases::Begin(const Member& self, bool was_member, absl::Time now) {
  self_ = self;
  if (was_member) granted_until_ = now + time_;
}

void PeerLeases::SetView(const View& view) {
  view_ = view;
  superseded_ = false;
  others_.clear();
  if (view.IndexOf(self_.node_id, self_.incarnation) < 0) return;
  for (const Member& member : view.members) {
    if (member.node_id == self_.node_id) continue;
    others_[member.node_id].address = member.peer_address();
  }
}

absl::Status PeerLeases::Grant(const VouchRequest& request,
                               bool manager_answers, absl::Time now) {
  if (request.cluster_id() != view_.cluster_id && view_.formed()) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is a node of cluster ", view_.cluster_id));
  }
  RETURN_IF_ERROR(CheckChain(request.chain_id(), view_.chain_id));
  if (request.view_id() != view_.id || request.view_digest() != view_.digest ||
      superseded_ ||
      view_.IndexOf(request.node_id(), request.incarnation()) < 0 ||
      others_.count(request.node_id()) == 0) {
    return absl::FailedPreconditionError(
        "the two nodes are not members of the same newest view");
  }
  if (manager_answers) {
    return absl::FailedPreconditionError("the manager answers this node");
  }
  for (const auto& [id, other] : others_) {
    if (id == request.node_id() || other.missed <= kMostMissed) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("node ", id, " does not answer this node"));
  }
  granted_until_ = std::max(granted_until_, now + time_);
  return absl::OkStatus();
}

std::vector<std::string> PeerLeases::Addresses() const {
  std::vector<std::string> addresses;
  for (const auto& [id, other] : others_) addresses.push_back(other.address);
  return addresses;
}

std::vector<PeerLeases::Call> PeerLeases::Next(absl::Time now) const {
  std::vector<Call> calls;
  if (superseded_) return calls;
  for (const auto& [id, other] : others_) {
    Call call;
    call.node_id = id;
    call.address = other.address;
    call.sent = now;
    call.request.set_cluster_id(view_.cluster_id);
    call.request.set_chain_id(view_.chain_id);
    call.request.set_node_id(self_.node_id);
    call.request.set_incarnation(self_.incarnation);
    call.request.set_view_id(view_.id);
    call.request.set_view_digest(view_.digest);
    calls.push_back(std::move(call));
  }
  return calls;
}

void PeerLeases::OnAnswer(const Call& call, const Answer& answer) {
  const auto found = others_.find(call.node_id);
  if (found == others_.end() || call.request.view_id() != view_.id ||
      call.request.view_digest() != view_.digest) {
    return;
  }
  Other& other = found->second;
  const bool answered = answer.status.ok() ||
                        absl::IsFailedPrecondition(answer.status) ||
                        absl::IsInvalidArgument(answer.status);
  other.missed = answered ? 0 : other.missed + 1;
  if (!answer.status.ok()) return;
  const absl::Duration time =
      std::min(absl::Milliseconds(answer.response.vouch_ms()), time_);
  other.holds_until = std::max(other.holds_until, call.sent + time * 0.9);
}

bool PeerLeases::Holds(uint64_t view_id, absl::Time now) const {
  if (view_id != view_.id || others_.empty()) return false;
  return std::all_of(others_.begin(), others_.end(), [now](const auto& other) {
    return now < other.second.holds_until;
  });
}

}  // namespace kamino::membership
