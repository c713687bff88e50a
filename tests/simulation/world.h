// Simulated time: an ordered queue of events. And the processes that live in
// it, each with a clock of its own, which may pause, die and start again.
#ifndef KAMINO_TESTS_SIMULATION_WORLD_H_
#define KAMINO_TESTS_SIMULATION_WORLD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/simulation/random.h"
#include "tests/simulation/tally.h"
#include "tests/simulation/trace.h"

namespace kamino::simulation {

class World {
 public:
  using Event = std::function<void()>;

  World(uint64_t seed, std::FILE* trace) : random_(seed), trace_(trace) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  absl::Time now() const { return now_; }
  Random& random() { return random_; }
  Trace& trace() { return trace_; }
  Tally& tally() { return tally_; }

  // Events of one moment happen in the order in which they were scheduled.
  void After(absl::Duration delay, Event event);

  // Lets events happen until `until`, or until one fails the run.
  void RunUntil(absl::Time until);
  // Lets the next event happen, whenever that is; false: there is none.
  bool Step();

  // The first one counts. The run ends.
  void Fail(absl::Status violation);
  const absl::Status& violation() const { return violation_; }
  uint64_t events() const { return events_; }

 private:
  struct Entry {
    absl::Time time;
    uint64_t order;
    Event event;
    bool operator<(const Entry& other) const {
      if (time != other.time) return other.time < time;
      return other.order < order;
    }
  };

  absl::Time now_ = absl::UnixEpoch();
  Random random_;
  Trace trace_;
  Tally tally_;
  std::vector<Entry> queue_;  // a heap
  uint64_t order_ = 0;
  uint64_t events_ = 0;
  absl::Status violation_;
};

// A process on a machine. Its clock is off by an offset and a rate.
class Process {
 public:
  Process(World* world, std::string name);
  virtual ~Process() = default;

  const std::string& name() const { return name_; }
  World* world() const { return world_; }
  // On this machine.
  absl::Time Clock() const;

  bool up() const { return up_; }
  // SIGSTOP for that long, or longer if it is stopped already.
  void Pause(absl::Duration time);
  bool paused() const { return world_->now() < paused_until_; }

  // In this life of the process: after `wait` by its clock, and not while it is
  // paused. Never when it is down.
  void After(absl::Duration wait, World::Event event);
  // The same, now. For outside events: dropped when it is down.
  virtual void Deliver(World::Event event);

  uint64_t life() const { return life_; }

  template <typename... Parts>
  void Trace(const Parts&... parts) {
    world_->trace().Line(world_->now(), name_, parts...);
  }

 protected:
  void Begin() { up_ = true; }
  // Events that were scheduled for this life never happen.
  void End();

 private:
  void RunIn(uint64_t life, const World::Event& event);

  World* const world_;
  const std::string name_;
  const double rate_;
  const absl::Duration offset_;
  bool up_ = false;
  uint64_t life_ = 0;
  absl::Time paused_until_ = absl::InfinitePast();
  absl::Duration slept_;  // in all pauses, the one it is in included
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_WORLD_H_
