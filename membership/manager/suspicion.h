// Finds the member that the chain should expel although the manager hears it,
// because it does not answer another member, for example when the link between
// them is dead. A pure function.
#ifndef KAMINO_MEMBERSHIP_MANAGER_SUSPICION_H_
#define KAMINO_MEMBERSHIP_MANAGER_SUSPICION_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "membership/manager/next_view.h"
#include "membership/view.h"

namespace kamino::membership {

struct Suspicion {
  std::string suspect;
  std::string reporter;  // another member; or the suspect itself, if slow
  // How long the reporter has waited, or how much of the last second it was
  // slow.
  absl::Duration waited;
  // The suspect waited for the reporter. If one member waits for several others
  // in turn, its own links are bad.
  bool turned = false;

  friend bool operator==(const Suspicion&, const Suspicion&) = default;
};

// Judges by the members' reports of that view:
//
//   - A member's successor that has acknowledged nothing for `patience` is
//     suspect; of several, the one furthest down the chain. A member that both
//     reports another and is reported is suspect rather than the member that
//     it reports, because it is at one end of both links. Once one member has
//     waited that long, others that have waited half of it count.
//   - If there is none: the tail, if nothing completed at the head for
//     `patience` although the tail has applied all that the head has.
//   - If there is none: the only member whose core spent most of the last
//     second in slow steps (NodeReport::late), for example on a slow medium. If
//     others were slow as well, the cause may be the load; likewise if the last
//     of `lately` was another member for this reason. The reporter is the
//     member itself.
//   - A member that reported another one in `lately`, and that no other has
//     reported, is the suspect itself, unless others have reported the member
//     that it reports now: both cases have its end of the links in common.
//     The last one of `lately` is the latest.
//
// While a member repairs its heap, which takes time, the limit is four times
// `patience` and slowness does not count: that member may wait for a link, too.
//
// While a member's result diverges from the head's, no member is suspect. The
// votes of that member and its successor decide whether the head is wrong.
//
// No member is suspect if only one would be left (not counting one that has
// just joined and is behind), if the remaining ones could not continue, or
// before all members are known to be in the view.
std::optional<Suspicion> SuspectOf(const View& view, const KnownNodes& nodes,
                                   absl::Duration patience,
                                   const std::vector<Suspicion>& lately);

// Whether `report` says that the result of `member` diverges from that of the
// head of `view`. A head whose result diverges from a former head's asks no
// member for its vote.
bool DivergesFromHead(const View& view, const Member& member,
                      const NodeReport& report);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_SUSPICION_H_
