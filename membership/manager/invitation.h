// Invites nodes to join, one at a time, because each costs the tail a state
// transfer.
#ifndef KAMINO_MEMBERSHIP_MANAGER_INVITATION_H_
#define KAMINO_MEMBERSHIP_MANAGER_INVITATION_H_

#include <string>

#include "absl/time/time.h"
#include "membership/manager/next_view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Invitation {
 public:
  explicit Invitation(absl::Duration failure_timeout)
      : failure_timeout_(failure_timeout) {}

  // The invited node; "": none.
  const std::string& holder() const { return holder_; }
  void Withdraw() { holder_.clear(); }

  // Invites the node that NextToJoin names, and the next one in the order of
  // ids, cyclically, if the invited node made no progress in thirty failure
  // timeouts. A receiving node does not report its progress: it counts as
  // progressing, but its turn ends after sixty, and each time this happens all
  // turns become twice as long. A node that has begun a transfer finishes it
  // without an invitation; the tail accepts no other one while the transfer
  // progresses (replica/repair/donor.h). Call it often.
  void Look(const View& view, const KnownNodes& nodes, size_t chain_length,
            const Exclusions& excluded, absl::Time now);

 private:
  absl::Duration failure_timeout_;
  std::string holder_;
  NodeReport seen_;   // of the invited node, at its last progress
  absl::Time since_;  // of that report
  absl::Time began_;  // of its turn
  absl::Duration turn_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_INVITATION_H_
