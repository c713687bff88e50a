// How a node leaves its chain in a planned stop
// (docs/operate/planned_stops.md): without I/O, threads or clocks.
//
//   state         input               next          effects
//   kServing      Begin, as a member  kAsking       asks the manager
//                 Begin, otherwise    kOver
//   kAsking       kWait               kWaiting
//                 OnTick, when due    kOver
//   kWaiting      OnTick, when due    kDraining     nothing new is executed
//   these two     kGo, kStay          kDraining     likewise
//                 kUnknown            kOver
//                 OnView, without it  kOver
//   kDraining     OnDrained           kSurrendered  surrenders the lease
//                 OnTick, when due    kSurrendered  likewise
//                 OnView, without it  kOver
//   kSurrendered  OnView, without it  kOver
//                 kGo, kStay          kOver
//                 OnTick, when due    kOver
// Anything else changes nothing. While it asks the node serves as before. After
// it has begun to drain it never serves again: requests wait and are redirected
// to the next head, or are answered when the process ends.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_NODE_DRIVER_DEPARTURE_H_
#define KAMINO_NODE_DRIVER_DEPARTURE_H_

#include "absl/time/time.h"
#include "membership/node_report.h"

namespace kamino::node {

struct DepartureOptions {
  // The longest duration of each state; together they leave time for the rest
  // of a process's end in ten seconds.
  absl::Duration asking = absl::Seconds(2);
  absl::Duration draining = absl::Milliseconds(500);
  absl::Duration surrendered = absl::Seconds(2);
};

class Departure {
 public:
  enum class State {
    kServing,
    kAsking,   // no manager has answered
    kWaiting,  // for its decision
    kDraining,
    kSurrendered,
    kOver
  };

  explicit Departure(const DepartureOptions& options) : options_(options) {}

  State state() const { return state_; }
  bool over() const { return state_ == State::kOver; }
  // The chain continues without this node, as far as it knows.
  bool has_left() const { return has_left_; }

  void Begin(bool is_member, absl::Time now) {
    if (state_ != State::kServing) return;
    if (!is_member) return End();
    Enter(State::kAsking, now + options_.asking);
  }

  void OnStopPermission(membership::StopPermission permission, absl::Time now) {
    using membership::StopPermission;
    const bool decided = permission == StopPermission::kGo ||
                         permission == StopPermission::kStay;
    if (asks() && decided) {
      Enter(State::kDraining, now + options_.draining);
    } else if (asks() && permission == StopPermission::kUnknown) {
      End();
    } else if (asks()) {
      state_ = State::kWaiting;
    } else if (state_ == State::kSurrendered && decided) {
      has_left_ = permission == StopPermission::kGo;
      End();
    }
  }

  // True when the lease must be surrendered now.
  bool OnDrained(absl::Time now) {
    if (state_ != State::kDraining) return false;
    Enter(State::kSurrendered, now + options_.surrendered);
    return true;
  }

  // A view is in force; `is_member`: of it.
  void OnView(bool is_member) {
    if (state_ == State::kServing || is_member || over()) return;
    has_left_ = true;
    End();
  }

  // Returns as OnDrained.
  bool OnTick(absl::Time now) {
    if (now < due_) return false;
    switch (state_) {
      case State::kAsking:
        End();
        return false;
      case State::kWaiting:
        Enter(State::kDraining, now + options_.draining);
        return false;
      case State::kDraining:
        return OnDrained(now);
      case State::kSurrendered:
        End();
        return false;
      default:
        return false;
    }
  }

  // It accepts nothing new.
  bool holds() const {
    return state_ == State::kDraining || state_ == State::kSurrendered;
  }

 private:
  bool asks() const {
    return state_ == State::kAsking || state_ == State::kWaiting;
  }
  void Enter(State state, absl::Time due) {
    state_ = state;
    due_ = due;
  }
  void End() { Enter(State::kOver, absl::InfiniteFuture()); }

  const DepartureOptions options_;
  State state_ = State::kServing;
  absl::Time due_ = absl::InfiniteFuture();
  bool has_left_ = false;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_DEPARTURE_H_
