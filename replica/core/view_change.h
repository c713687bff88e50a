// Installs a view: ends what belongs to the one before it, gives the node its
// place in the new one, and begins what its role requires.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_VIEW_CHANGE_H_
#define KAMINO_REPLICA_CORE_VIEW_CHANGE_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/view.h"
#include "replica/core/chain_parts.h"
#include "replica/core/log_parts.h"
#include "replica/link/chain_context.h"
#include "replica/link/place.h"

namespace kamino::replica {

class ViewChange {
 public:
  // `chain` and all pointers must outlive it. `place` is that of `chain`.
  ViewChange(const ChainContext& chain, Place* place, LinkParts* links,
             DataParts* data, LogParts* log)
      : chain_(chain), place_(place), links_(links), data_(data), log_(log) {}

  // False: the view was not installed. It is not newer, is of another chain, or
  // this node's heap has data of a later view.
  bool Install(const membership::View& view, absl::Time now);

 private:
  // The index of this process in the view, given what its heap holds; -1: none.
  int PlaceIn(const membership::View& view) const;
  // A view replaces this one: entries on their way to the successor may have
  // crashed it.
  void QuarantineOnTheWay(const membership::View& next);
  void Leave(absl::Time now);
  void Enter(absl::Time now);
  // The node's record is of this view.
  void RecordView();
  // Why the node cannot take its place with its data.
  absl::Status CheckData() const;
  void BeginRole(absl::Time now);

  const ChainContext& chain_;
  Place* const place_;
  LinkParts* const links_;
  DataParts* const data_;
  LogParts* const log_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_VIEW_CHANGE_H_
