// The decision of what the chain is to be next, as a pure function.
#ifndef KAMINO_MEMBERSHIP_NEXT_VIEW_H_
#define KAMINO_MEMBERSHIP_NEXT_VIEW_H_

#include <map>
#include <string>

#include "absl/types/optional.h"
#include "membership/view.h"

namespace kamino::membership {

struct NodeState {
  Member member;
  bool alive = false;  // heard of recently enough to hold a lease
};

// The view that should follow `view`, or nothing when it should stay.
//
//   - Without a view: the first one, as soon as `chain_length` nodes with heaps
//     of one size are alive; the lowest node ids, in their order.
//   - With one: the members that are alive, in the same order. A member whose
//     node runs under another incarnation is not: its state went with the old
//     process. Nobody is added; a chain never becomes empty, so when no member
//     is alive it stays as it is.
//
// `nodes` by node id. The new view's id is one higher.
absl::optional<View> NextView(const View& view,
                              const std::map<std::string, NodeState>& nodes,
                              size_t chain_length);

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_NEXT_VIEW_H_
