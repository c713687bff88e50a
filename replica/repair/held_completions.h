// How far a tail completes entries while a node joins: everything applied, or,
// while writes must wait for the joining node (Brake), one entry now and then.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_HELD_COMPLETIONS_H_
#define KAMINO_REPLICA_REPAIR_HELD_COMPLETIONS_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "replica/log/log_ring.h"
#include "replica/repair/brake.h"

namespace kamino::replica {

class HeldCompletions {
 public:
  // `ring` must outlive it.
  explicit HeldCompletions(const LogRing* ring) : ring_(ring) {}

  // A node begins to join.
  void Begin() {
    brake_.Reset();
    braked_ = false;
  }
  // Slows writes down, or stops that.
  void Update(bool due, absl::Time now) {
    brake_.Update(due, now);
    braked_ = braked_ || brake_.holds();
  }
  // The node does not join any more: everything may be completed.
  void Release() { brake_.Reset(); }

  bool holds() const { return brake_.holds(); }
  // Whether an entry was held too long at least once.
  bool overrun() const { return brake_.overrun(); }
  // Whether writes were slowed down since Begin.
  bool braked() const { return braked_; }

  uint64_t MayComplete();
  // The last result of MayComplete if it was less than everything applied.
  std::optional<uint64_t> held_at() const { return held_at_; }
  // The view has ended: the next view's tail completes the held entries.
  void Leave() { held_at_.reset(); }

 private:
  const LogRing* const ring_;
  Brake brake_;
  bool braked_ = false;
  std::optional<uint64_t> held_at_;
  uint64_t released_ = 0;  // the last result of MayComplete
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_HELD_COMPLETIONS_H_
