// Peer leases: members of a view renew each other's leases while no manager can
// be reached, for example while etcd is down. A node may serve in its view
// while *all* other members grant it peer leases. A member that grants one
// promises to act in no newer view until it expires. A newer view can have the
// chain's data only from a member of this one; before that member acts in the
// newer view, its peer leases have expired, so an expelled node no longer
// serves.
//
// A peer lease counts from the request at its holder, and from the grant at its
// grantor; the holder deducts a tenth for clocks that run at different rates. A
// new process does not know the grants of the process before it, and waits as
// long as a peer lease lasts.
//
// A member grants none while the manager answers it, because the manager drops
// the nodes that it does not hear. Nor does a member that has missed another
// member twice: no node could hold the leases of all, and grants would only
// delay the next view.
#ifndef KAMINO_MEMBERSHIP_AGENT_PEER_LEASES_H_
#define KAMINO_MEMBERSHIP_AGENT_PEER_LEASES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/membership.pb.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic and the time of the call.
class PeerLeases {
 public:
  // `time`: duration of this node's grants; the same in all its processes.
  explicit PeerLeases(absl::Duration time) : time_(time) {}

  // Call once, first. `was_member`: of any view, in an earlier process.
  void Begin(const Member& self, bool was_member, absl::Time now);
  // This node acts in `view` from now on.
  void SetView(const View& view);

  // --- Leases that it grants.

  // OK: granted from now on, for time().
  absl::Status Grant(const kamino::internal::v1::VouchRequest& request,
                     bool manager_answers, absl::Time now);
  absl::Duration time() const { return time_; }
  // A newer view is known: grants no more leases in this one.
  void Supersede() { superseded_ = true; }
  // This node may not act in a newer view before that time.
  absl::Time granted_until() const { return granted_until_; }

  // --- Leases that it holds.

  struct Call {
    std::string node_id;  // to call
    std::string address;
    absl::Time sent;
    kamino::internal::v1::VouchRequest request;
  };
  struct Answer {
    absl::Status status;
    kamino::internal::v1::VouchResponse response;  // where it is OK
  };
  // All other members of the view; none if a peer lease is impossible. Each is
  // asked again whether it has answered or not: a lease counts from its
  // request, and no request waits for the slowest member.
  std::vector<Call> Next(absl::Time now) const;
  // Addresses of all other members of the view.
  std::vector<std::string> Addresses() const;
  // In any order. A peer lease never counts for longer than this node's own
  // grants.
  void OnAnswer(const Call& call, const Answer& answer);
  // Whether all other members grant this node leases in that view.
  bool Holds(uint64_t view_id, absl::Time now) const;

 private:
  struct Other {
    std::string address;
    absl::Time holds_until = absl::InfinitePast();
    int missed = 0;  // requests in a row without an answer
  };

  const absl::Duration time_;
  Member self_;
  View view_;
  bool superseded_ = false;
  absl::Time granted_until_ = absl::InfinitePast();
  std::map<std::string, Other> others_;  // by node id
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGENT_PEER_LEASES_H_
