// The queue of scheduled events. Events of the same moment run in the order in
// which they were scheduled, so that a simulation is deterministic.
#ifndef KAMINO_LAB_CONTROLLER_EVENT_QUEUE_H_
#define KAMINO_LAB_CONTROLLER_EVENT_QUEUE_H_

#include <cstdint>
#include <queue>
#include <tuple>
#include <vector>

#include "lab/controller/machine.h"

namespace kamino::bench::controller {

class Actor {
 public:
  virtual ~Actor() = default;
  // `what` is the actor's own.
  virtual void Act(Time now, uint64_t what) = 0;
};

class EventQueue {
 public:
  // The actor outlives the queue, or what is in it.
  void At(Time time, Actor* actor, uint64_t what) {
    events_.push({time, asked_++, actor, what});
  }

  bool empty() const { return events_.empty(); }
  // Time of the next event; the largest Time when there is none.
  Time next() const { return events_.empty() ? ~Time{0} : events_.top().time; }
  void RunNext() {
    const Event event = events_.top();
    events_.pop();
    event.actor->Act(event.time, event.what);
  }

 private:
  struct Event {
    Time time;
    uint64_t order;
    Actor* actor;
    uint64_t what;

    bool operator<(const Event& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };

  std::priority_queue<Event> events_;
  uint64_t asked_ = 0;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_EVENT_QUEUE_H_
