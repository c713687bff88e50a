// Owns the wires of closed links until they are destroyed. Each wire sends a
// bye to its peer, stops, and is destroyed once its pair has drained. Otherwise
// the group would lose a receive that the pair still fills.
//
// Threads: the loop's thread only. Owns the wires from Add on.
#ifndef KAMINO_TRANSPORT_VERBS_LEAVING_WIRES_H_
#define KAMINO_TRANSPORT_VERBS_LEAVING_WIRES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "absl/time/time.h"
#include "transport/loop/event_loop.h"
#include "transport/verbs/send_wire.h"
#include "transport/verbs/verbs_group.h"

namespace kamino::transport {

class LeavingWires {
 public:
  // `empty_queue` handles all completions that the group's queue holds.
  LeavingWires(EventLoop* loop, std::function<void()> empty_queue);

  // Sends a bye, unless `at_once`. Calls `done` after the wire is destroyed.
  void Add(std::unique_ptr<SendWire> wire, bool at_once,
           std::function<void()> done);

  bool Has(uint32_t number) const { return wires_.count(number) != 0; }
  // A completion of a wire that Has() knows.
  void OnCompletion(const GroupCompletion& completion) {
    Proceed(completion.pair, &completion);
  }
  // The device says that the pair fills no receive any more.
  void OnDrained(uint32_t number);
  // The group's receives are not needed any more: pairs need not drain.
  void NeedNotDrain() { drain_time_ = absl::ZeroDuration(); }

 private:
  struct Leaving {
    std::unique_ptr<SendWire> wire;
    std::function<void()> done;
    bool said_bye = false;
    bool draining = false;
    EventLoop::Id timer = 0;
  };

  void Proceed(uint32_t number, const GroupCompletion* completion);
  void Drain(uint32_t number);
  void Destroy(uint32_t number);

  EventLoop* const loop_;
  const std::function<void()> empty_queue_;
  absl::Duration drain_time_;
  std::map<uint32_t, Leaving> wires_;  // by the pair's number
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_LEAVING_WIRES_H_
