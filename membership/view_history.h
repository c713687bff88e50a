// Which view follows which: a store that was put back from an older copy has
// views of ids that others had before.
#ifndef KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
#define KAMINO_MEMBERSHIP_VIEW_HISTORY_H_

#include <cstdint>

#include "membership/view.h"

namespace kamino::membership {

// As many predecessors a view names.
inline constexpr size_t kMaxAncestors = 64;

// Sets what `next`, complete otherwise, says of its history: that it follows
// `previous`.
void Succeed(const View& previous, View* next);

// What a view that somebody knows, by its id and digest (0: not known), is to
// the one that is stored.
enum class Kinship {
  kPast,     // that one, or one of those before it, as far as can be told
  kAhead,    // one that came later: what is stored is old
  kAnother,  // of the same id as that one or one before it, and not the same
};
Kinship KinshipOf(uint64_t id, uint64_t digest, const View& stored);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_HISTORY_H_
