// Which node is invited to join next, when several may: one at a time, as each
// costs the tail a copy of the chain's state.
#ifndef KAMINO_MEMBERSHIP_INVITATION_H_
#define KAMINO_MEMBERSHIP_INVITATION_H_

#include <string>

#include "absl/time/time.h"
#include "membership/next_view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class Invitation {
 public:
  explicit Invitation(absl::Duration failure_timeout)
      : failure_timeout_(failure_timeout) {}

  // Who has it; "": nobody.
  const std::string& holder() const { return holder_; }
  void Withdraw() { holder_.clear(); }

  // Gives it to whom NextToJoin names; and to the one after, in the order of
  // their ids and round again, when the holder has got no nearer in thirty
  // failure timeouts. One that receives the state says nothing of how far it
  // has come: it counts as nearer, but its turn is over after sixty, and the
  // turns of all are twice as long each time that one is. Who has begun goes on
  // without; the tail does not take another while it gets on
  // (replica/donor.h). To be called often.
  void Look(const View& view, const KnownNodes& nodes, size_t chain_length,
            const Exclusions& excluded, absl::Time now);

 private:
  absl::Duration failure_timeout_;
  std::string holder_;
  NodeReport seen_;   // of the holder, when it had got nearer last
  absl::Time since_;  // then
  absl::Time began_;  // its turn
  absl::Duration turn_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_INVITATION_H_
