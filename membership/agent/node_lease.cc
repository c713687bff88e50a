#include "membership/agent/node_lease.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "glog/logging.h"

namespace kamino::membership {
namespace {

// Requests to one member per lease, or per peer lease if that is shorter.
constexpr int kAskedInALease = 8;
constexpr absl::Duration kMinPeerLeaseInterval = absl::Milliseconds(5);

}  // namespace

bool NodeLease::LetsViewChange(absl::Time now) {
  if (now >= peer_leases_.granted_until()) return true;
  peer_leases_.Supersede();
  return false;
}

void NodeLease::OnView(const View& view) {
  acts_in_ = view.id;
  peer_leases_.SetView(view);
}

void NodeLease::Take(absl::Time sent, uint32_t lease_ms, uint64_t lease_view_id,
                     uint64_t lease_term) {
  if (ended_) return;
  length_ = absl::Milliseconds(lease_ms);
  until_ = sent + length_;
  term_ = lease_term;
  view_id_ = std::max(view_id_, lease_view_id);
}

void NodeLease::End() {
  ended_ = true;
  until_ = absl::InfinitePast();
}

// --- Peer leases.

absl::Duration NodeLease::peer_lease_interval() const {
  return std::max(std::min(length_, peer_leases_.time()) / kAskedInALease,
                  kMinPeerLeaseInterval);
}

std::vector<PeerLeases::Call> NodeLease::NextPeerLeaseCalls(absl::Time now) {
  NoteWhoAnswers(now);
  if (ended_ || !LacksManager(now)) return {};
  return peer_leases_.Next(now);
}

void NodeLease::OnPeerLease(const PeerLeases::Call& call,
                            const PeerLeases::Answer& answer) {
  peer_leases_.OnAnswer(call, answer);
}

void NodeLease::NoteWhoAnswers(absl::Time now) {
  const bool leased = now < until_;
  const bool stood_in = !leased && Valid(acts_in_, now);
  if (std::exchange(stood_in_, stood_in) == stood_in) return;
  LOG(WARNING) << (stood_in
                       ? "no manager answers; the members of this view renew "
                         "each other's leases, and the chain goes on as it is"
                   : leased ? "a manager answers again"
                            : "neither a manager nor all other members answer: "
                              "this node answers nothing by itself until they "
                              "do");
}

PeerLeases::Answer NodeLease::GrantPeerLease(
    const kamino::internal::v1::VouchRequest& request, absl::Time now) {
  PeerLeases::Answer answer;
  answer.status = ended_
                      ? absl::FailedPreconditionError("this node is stopping")
                      : peer_leases_.Grant(request, !LacksManager(now), now);
  if (answer.status.ok()) {
    answer.response.set_vouch_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(peer_leases_.time())));
  }
  return answer;
}

}  // namespace kamino::membership
