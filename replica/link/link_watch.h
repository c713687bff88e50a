// Tracks whether a node's links to its neighbours have come up in its view, and
// paces its dials that reach the node itself.
#ifndef KAMINO_REPLICA_LINK_LINK_WATCH_H_
#define KAMINO_REPLICA_LINK_LINK_WATCH_H_

#include <algorithm>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe: the node's core thread owns it.
class LinkWatch {
 public:
  // The pause between two dials that reach the node itself, since a retry of
  // the same address does so again. It doubles from the first to the last.
  static constexpr absl::Duration kFirstPause = absl::Seconds(1);
  static constexpr absl::Duration kLastPause = absl::Seconds(32);

  void Enter(absl::Time now) {
    *this = LinkWatch();
    entered_ = now;
    watches_ = true;
  }
  void Leave() { *this = LinkWatch(); }
  // `up`: all links to neighbours are established.
  void Update(bool up, absl::Time now) {
    if (up) watches_ = false;
    never_up_ = watches_ ? now - entered_ : absl::ZeroDuration();
  }

  // True from the start of a view until all its links have been up at once.
  bool watches() const { return watches_; }
  // How long watches() has been true, as of the last Update; zero if it is not.
  absl::Duration never_up() const { return never_up_; }

  // The pause before the next dial.
  absl::Duration NextPause() {
    const absl::Duration pause = pause_;
    pause_ = std::min(2 * pause_, kLastPause);
    return pause;
  }

 private:
  absl::Time entered_;
  bool watches_ = false;
  absl::Duration never_up_;
  absl::Duration pause_ = kFirstPause;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_LINK_WATCH_H_
