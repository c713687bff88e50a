// A node's current view and its place there.
#ifndef KAMINO_REPLICA_LINK_PLACE_H_
#define KAMINO_REPLICA_LINK_PLACE_H_

#include "membership/view.h"

namespace kamino::replica {

struct Place {
  membership::View view;
  int index = -1;  // among the view's members; -1: it is outside

  bool inside() const { return index >= 0; }
  membership::Role role() const { return view.RoleAt(index); }
  // A single member is both.
  bool is_head() const { return index == 0; }
  bool is_tail() const {
    return inside() && index + 1 == static_cast<int>(view.members.size());
  }
  // Null if there is none; valid until the next view.
  const membership::Member* predecessor() const {
    return view.Predecessor(index);
  }
  const membership::Member* successor() const { return view.Successor(index); }
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_PLACE_H_
