// Observes how long requests and log entries are in each stage
// (docs/operate/metrics.md). Calls carry no time: the observer has its own
// clock.
#ifndef KAMINO_REPLICA_LINK_STAGE_WATCH_H_
#define KAMINO_REPLICA_LINK_STAGE_WATCH_H_

#include <utility>

#include "absl/time/time.h"

namespace kamino::replica {

enum class Stage {
  kAdmit,     // a request, from when it has come until it is executed first;
              // one in some
  kLock,      // a request, each time it is parked, until it is executed again
  kExecute,   // a log entry, in the heap
  kPersist,   // a log entry, in the ring and, at a head, the commit record
  kHop,       // a log entry, from when it was sent until it is acknowledged
  kComplete,  // a log entry of a head, until the tail has completed it
  kClean,     // a log entry, from when it is applied until the ring forgets it
};
inline constexpr int kStages = 7;

// Not thread-safe: the node's core thread owns it.
class StageWatch {
 public:
  virtual ~StageWatch() = default;

  // One took so long, by the times of inputs.
  virtual void Took(Stage stage, absl::Duration time) = 0;
  // One begins now; the one before, if there is one, ends.
  virtual void Begin(Stage stage) = 0;
  virtual void End() = 0;

  // Times of the log entry that has ended last.
  struct Entry {
    absl::Duration execute;
    absl::Duration persist;
    absl::Time ended;
  };
  // Null: not all entries are timed, as requests are not observed one by one.
  virtual const Entry* last_entry() const = 0;
};

// Marks a stage while it exists.
class StageLap {
 public:
  // `watch` may be null.
  StageLap(StageWatch* watch, Stage stage) : watch_(watch) { Next(stage); }
  ~StageLap() { End(); }
  StageLap(const StageLap&) = delete;
  StageLap& operator=(const StageLap&) = delete;

  void Next(Stage stage) {
    if (watch_ != nullptr) watch_->Begin(stage);
  }
  void End() {
    if (watch_ != nullptr) std::exchange(watch_, nullptr)->End();
  }

 private:
  StageWatch* watch_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_STAGE_WATCH_H_
