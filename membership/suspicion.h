// Whom a chain is to go on without though the manager hears it: a member that
// does not answer another one, as when the link between the two is dead. A pure
// function.
#ifndef KAMINO_MEMBERSHIP_SUSPICION_H_
#define KAMINO_MEMBERSHIP_SUSPICION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/next_view.h"
#include "membership/view.h"

namespace kamino::membership {

struct Suspicion {
  std::string suspect;
  std::string accuser;  // another member; or itself, as it is slow
  // How long the accuser has waited; or was slow, of the last second.
  absl::Duration debt;
  // It was the suspect who waited for the accuser: of whoever waits for one
  // member after another the links are bad themselves.
  bool turned = false;

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
//     the last of `lately` was for this, of another member. The accuser is the
//     member itself.
//   - By `lately`, which came to something, the last one last: who has accused
//     another one before, whom nobody else has, is the suspect itself, unless
//     others have accused whom it accuses now. What the two had in common is
//     its end of the links.
//
// While a member has something to mend, which takes time, four times `patience`
// is what counts, and nobody is slow: that member may wait for a link, too.
//
// While a member disputes an entry with the head, no member is accused. The
// votes of that member and its successor decide whether the head's result is
// wrong.
//
// Nobody, if one member alone would be left, but for one that has just joined
// and is behind, or those who are left could not go on; and nobody before all
// members are known to be in the view.
std::optional<Suspicion> SuspectOf(const View& view, const KnownNodes& nodes,
                                   absl::Duration patience,
                                   const std::vector<Suspicion>& lately);

// Whether `report` says that `member` disputes an entry with the head of
// `view`. A head that disputes an entry of a former head asks no member for its
// vote.
bool DisputesWithHead(const View& view, const Member& member,
                      const NodeReport& report);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_SUSPICION_H_
