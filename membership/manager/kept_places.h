// The places of nodes in planned stops (View::away), which the chain keeps for
// ManagerOptions::away_limit.
#ifndef KAMINO_MEMBERSHIP_MANAGER_KEPT_PLACES_H_
#define KAMINO_MEMBERSHIP_MANAGER_KEPT_PLACES_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/view.h"

namespace kamino::membership {

// How long each node of View::away has been away, by node id.
using AwayTimes = std::map<std::string, absl::Duration>;

// Not thread-safe. `now` is monotonic.
class KeptPlaces {
 public:
  explicit KeptPlaces(const ManagerContext* context) : context_(context) {}

  // Begins to count for the nodes that the view lists as away since the last
  // call: from `before`, the times that the former leader stored, or from
  // `now`. Forgets all others.
  void NoteAway(const AwayTimes& before, absl::Time now);
  void Clear() { away_since_.clear(); }

  AwayTimes away_times(absl::Time now) const;
  // How much longer the node's place is kept; zero: it is not away, or its time
  // is over.
  absl::Duration AwayLeft(const std::string& node_id, absl::Time now) const;
  // The node was away for too long: the chain no longer waits for it.
  bool IsGone(const std::string& node_id, absl::Time now) const;
  // The view without places for nodes that were away for too long.
  View WithoutGone(absl::Time now) const;
  // The member is in a planned stop, and the chain waits for it.
  bool Keeps(const Member& member, absl::Time now) const;

 private:
  const ManagerContext* const context_;
  std::map<std::string, absl::Time> away_since_;  // of View::away
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_KEPT_PLACES_H_
