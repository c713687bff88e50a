// Probes the peer of a link again and again. Otherwise the death of a peer that
// only listens, or stands still, would not be noticed.
#ifndef KAMINO_TRANSPORT_VERBS_PROBE_TIMER_H_
#define KAMINO_TRANSPORT_VERBS_PROBE_TIMER_H_

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "transport/loop/event_loop.h"

namespace kamino::transport {

// The loop's thread only.
class ProbeTimer {
 public:
  // Probes in one peer_timeout.
  static constexpr int kProbesPerTimeout = 4;

  // `probe` sends a probe. False: it has ended the link, and the timer stops.
  // `loop` must outlive the timer.
  void Start(EventLoop* loop, absl::Duration peer_timeout,
             std::function<bool()> probe) {
    const absl::Duration interval = peer_timeout / kProbesPerTimeout;
    id_ = loop->StartTimer(interval, [=, this, probe = std::move(probe)] {
      id_ = 0;
      if (probe()) Start(loop, peer_timeout, probe);
    });
  }
  void Stop(EventLoop* loop) {
    if (id_ != 0) loop->CancelTimer(std::exchange(id_, 0));
  }

 private:
  EventLoop::Id id_ = 0;  // 0: none runs
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_PROBE_TIMER_H_
