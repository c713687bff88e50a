// Whether a joining node makes progress. A node that makes none for too long,
// or whose pauses together are too long, stutters: writes do not wait for it,
// and another node may join in its place.
//
// Time without ticks does not count: this node itself may have been held up,
// with unread messages.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_JOINING_PACE_H_
#define KAMINO_REPLICA_REPAIR_JOINING_PACE_H_

#include <cstdint>

#include "absl/time/time.h"

namespace kamino::replica {

class JoiningPace {
 public:
  // Longer than the time between two ticks.
  static constexpr absl::Duration kLongTick = absl::Milliseconds(50);

  // `patience`: the longest pause that a node may make.
  explicit JoiningPace(absl::Duration patience) : patience_(patience) {}

  // A node begins to join.
  void Begin(absl::Time now);
  // `progress` grows with all that the node takes. `waits`: nothing is sent
  // that it could take. Also called without a joining node.
  void OnTick(uint64_t progress, bool waits, absl::Time now);
  bool Stutters(absl::Time now) const;

 private:
  // For how long the node has taken nothing.
  absl::Duration Pause(absl::Time now) const;
  void NoteProgress(absl::Time now);

  const absl::Duration patience_;
  uint64_t progress_ = 0;  // at the last tick
  absl::Time progressed_;
  // The long pauses, less the time of progress since.
  absl::Duration paused_;
  absl::Time ticked_ = absl::InfinitePast();
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_JOINING_PACE_H_
