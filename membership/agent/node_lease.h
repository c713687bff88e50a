// The lease of a node: the manager's, or, while no manager answers, peer leases
// of all other members of its view (membership/agent/peer_leases.h).
#ifndef KAMINO_MEMBERSHIP_AGENT_NODE_LEASE_H_
#define KAMINO_MEMBERSHIP_AGENT_NODE_LEASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/agent/peer_leases.h"
#include "membership/lease_share.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic and the time of the call.
class NodeLease {
 public:
  // `peer_lease_time`: duration of a peer lease that this node grants.
  explicit NodeLease(absl::Duration peer_lease_time)
      : peer_leases_(peer_lease_time) {}

  // Call once, first. `was_member`: of any view, in an earlier process.
  void Begin(const Member& self, bool was_member, absl::Time now) {
    peer_leases_.Begin(self, was_member, now);
  }
  // Whether this node may act in a newer view now. False: it grants no more
  // peer leases in the present one, so that it may soon.
  bool LetsViewChange(absl::Time now);
  // This node acts in `view` from now on.
  void OnView(const View& view);

  // --- The manager's lease.

  // Replaces the lease of this process, even by one that ends earlier: the
  // manager relies on the lease that the next call reports.
  void Take(absl::Time sent, uint32_t lease_ms, uint64_t lease_view_id,
            uint64_t lease_term);
  // Ends the present lease; no other one follows.
  void End();

  // Whether a node in view `view_id` may serve now, by a lease or by peer
  // leases of all other members of its view.
  bool Valid(uint64_t view_id, absl::Time now) const {
    return !ended_ && view_id >= view_id_ &&
           (now < until_ || peer_leases_.Holds(view_id, now));
  }
  // Time since the request for the manager's last lease; infinite: there was
  // none.
  absl::Duration Age(absl::Time now) const { return now - (until_ - length_); }
  // Duration of the manager's last lease; infinite: there was none.
  absl::Duration length() const { return length_; }
  // The leadership that granted it; 0: none, or the manager has not said so.
  uint64_t term() const { return term_; }
  // The manager's failure timeout, computed from its leases (kLeaseShare);
  // infinite: it has granted none.
  absl::Duration FailureTimeout() const { return length_ / kLeaseShare; }

  // --- Peer leases.

  // Where to keep connections while no peer lease is needed. A member that
  // already has as many connections as it needs refuses new ones.
  std::vector<std::string> AddressesOfGrantors() const {
    return peer_leases_.Addresses();
  }
  // Requests for peer leases, to be sent every peer_lease_interval(), whether
  // earlier ones were answered or not; none while the manager answers.
  std::vector<PeerLeases::Call> NextPeerLeaseCalls(absl::Time now);
  // Call with the answer to such a request, or after peer_lease_deadline()
  // without one.
  void OnPeerLease(const PeerLeases::Call& call,
                   const PeerLeases::Answer& answer);
  // Several intervals fit in the rest of a lease at that time, and in a peer
  // lease.
  absl::Duration peer_lease_interval() const;
  // A later peer lease is worth little.
  absl::Duration peer_lease_deadline() const { return peer_leases_.time() / 2; }
  // Answers another member's request for a peer lease.
  PeerLeases::Answer GrantPeerLease(
      const kamino::internal::v1::VouchRequest& request, absl::Time now);

 private:
  // The lease will expire soon.
  bool LacksManager(absl::Time now) const { return until_ - now < length_ / 2; }
  // Logs whether this node relies on the manager or on peer leases.
  void NoteWhoAnswers(absl::Time now);

  bool ended_ = false;
  absl::Time until_ = absl::InfinitePast();
  uint64_t view_id_ = 0;
  uint64_t term_ = 0;
  absl::Duration length_ = absl::InfiniteDuration();
  PeerLeases peer_leases_;
  uint64_t acts_in_ = 0;   // id of the view that this node knows
  bool stood_in_ = false;  // this node serves by peer leases; for the log
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_NODE_LEASE_H_
