// Whether a node's links to its neighbours have come up in its view, and what
// its dials that end at the node itself lead to.
#ifndef KAMINO_REPLICA_LINK_WATCH_H_
#define KAMINO_REPLICA_LINK_WATCH_H_

#include <algorithm>

#include "absl/time/time.h"

namespace kamino::replica {

// Not thread-safe: the node's core thread owns it.
class LinkWatch {
 public:
  // Between two dials that end at the node itself, which the same address will
  // do again; doubled from the first to the last.
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

  // Since the view came, and its links were not yet up together.
  bool watches() const { return watches_; }
  // As of the last Update, for how long the view is here without that. Zero:
  // they were up, or there are none.
  absl::Duration never_up() const { return never_up_; }

  // The next dial may be after this.
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

#endif  // KAMINO_REPLICA_LINK_WATCH_H_
