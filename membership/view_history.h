// The order of views. A store that was restored from an older copy assigns ids
// of views again that other views had before.
#ifndef KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
#define KAMINO_MEMBERSHIP_VIEW_HISTORY_H_

#include <cstdint>

#include "membership/node_report.h"
#include "membership/view.h"

namespace kamino::membership {

// Number of predecessors that a view names.
inline constexpr size_t kMaxAncestors = 64;

// Sets the history of `next`, which is otherwise complete: it follows
// `previous`, in the same cluster and, unless it has a higher epoch, in the
// same epoch. The first view makes the cluster's uuid, from its members.
void Succeed(const View& previous, View* next);

// Whether its digest matches its content.
bool HasItsDigest(const View& view);

// The relation of a known view to the stored one.
enum class Kinship {
  kPast,       // the stored view or one before it, as far as known
  kAhead,      // a later one: the store is behind
  kAnother,    // another view with the id of the stored one or of one before it
  kAbandoned,  // not before it, and of an epoch that a forced recovery ended
};
Kinship KinshipOf(const KnownView& known, const View& stored);

// The epoch and the id of the view, without its digest.
KnownView KnownOf(const View& view);

// Whether neither is before the other.
bool IsSame(const KnownView& a, const KnownView& b);
bool IsSame(const KnownView& known, const View& view);

// Whether the known view shows that `stored` is behind.
bool IsAheadOf(const KnownView& known, const View& stored);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
