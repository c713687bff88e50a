// Which view follows which: a store that was put back from an older copy has
// views of ids that others had before.
#ifndef KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
#define KAMINO_MEMBERSHIP_VIEW_HISTORY_H_

#include <cstdint>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// As many predecessors a view names.
inline constexpr size_t kMaxAncestors = 64;

// Sets what `next`, complete otherwise, says of its history: that it follows
// `previous`, in the same cluster and, unless it has a higher one, in the same
// epoch. The first one of all makes the cluster's uuid, of what its members
// are.
void Succeed(const View& previous, View* next);

// Whether its digest is the one of what it says.
bool HasItsDigest(const View& view);

// What a view that somebody knows is to the one that is stored.
enum class Kinship {
  kPast,       // that one, or one of those before it, as far as can be told
  kAhead,      // one that came later: what is stored is old
  kAnother,    // of the same id as that one or one before it, and not the same
  kAbandoned,  // not before it, but of an epoch that a forced recovery ended
};
Kinship KinshipOf(const KnownView& known, const View& stored);

// Whether who knows that one shows that `stored` is old.
bool Outruns(const KnownView& known, const View& stored);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
