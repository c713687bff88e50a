// Whom a chain is to go on without though the manager hears it: a member that
// does not answer another one, as when the link between the two is dead. A pure
// function.
#ifndef KAMINO_MEMBERSHIP_SUSPICION_H_
#define KAMINO_MEMBERSHIP_SUSPICION_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "membership/next_view.h"
#include "membership/view.h"

namespace kamino::membership {

struct Suspicion {
  std::string suspect;
  std::string accuser;  // another member; or itself, as it is slow
  // How long the accuser has waited; or was slow, of the last second.
  absl::Duration debt;

  friend bool operator==(const Suspicion&, const Suspicion&) = default;
};

// By what members of `view` say in their reports of that view:
//
//   - A member's successor that has acknowledged nothing for `patience` is
//     suspect. Of several the one furthest down; but who accuses and is accused
//     rather than whom it accuses, as it is one end of both links. Once one has
//     waited that long, others that have for half of it count.
//   - If there is none: the tail, when nothing was completed at the head for
//     `patience` although the tail has applied all that the head has.
//   - If there is none: the one member whose core was in long steps for most of
//     the last second (NodeReport::late), as one on a medium that is slow. If
//     others were as well it may be what the chain is asked for; likewise if
//     `last` was for this, of another member. The accuser is the member itself.
//   - Whoever accused another one before (`last`) is the suspect itself: what
//     the two had in common is its end of the links.
//
// Nobody, if one member alone would be left, but for one that has just joined
// and is behind, or those who are left could not go on; and nobody before all
// members are known to be in the view and to have nothing to mend, as that
// takes time.
std::optional<Suspicion> SuspectOf(const View& view, const KnownNodes& nodes,
                                   absl::Duration patience,
                                   const std::optional<Suspicion>& last);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_SUSPICION_H_
