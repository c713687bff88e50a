// One thread that waits for sockets, timers, posted tasks and, where a link's
// data lies in shared memory, for pollers.
//
// Invariants:
//   1. Everything registered here is called on the loop's thread only, with no
//      lock of the loop held.
//   2. A task that Post accepted runs, even when Stop follows at once.
//   3. After Unwatch, CancelTimer or RemovePoller returned, the callback is not
//      called any more, even if its event was already picked up.
#ifndef KAMINO_TRANSPORT_LOOP_EVENT_LOOP_H_
#define KAMINO_TRANSPORT_LOOP_EVENT_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "transport/loop/spin_policy.h"
#include "transport/loop/unique_fd.h"

namespace kamino::transport {

// A source of work that no file descriptor announces while the loop is awake.
class Poller {
 public:
  virtual ~Poller() = default;
  // Does a bounded amount of work; false when there was none.
  virtual bool Poll() = 0;
  // The loop is about to sleep: makes sure a descriptor wakes it when work
  // comes. False when work is there already.
  virtual bool Arm() = 0;
  // The loop is awake again and polls by itself.
  virtual void Disarm() = 0;
};

class EventLoop {
 public:
  using Id = uint64_t;  // never zero, never reused

  // Starts the thread, under that name. `spin`: how long it polls after work
  // before it sleeps; it learns whether that is worthwhile.
  static absl::StatusOr<std::shared_ptr<EventLoop>> Start(
      absl::Duration spin, const char* name = "transport");

  // Stop() must have been called.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Any thread. False when the loop has stopped; the task is then dropped.
  bool Post(std::function<void()> task);

  // Any thread. Runs `task` on the loop's thread and returns when it is done;
  // false when the loop has stopped.
  bool RunSync(const std::function<void()>& task);

  // Any thread but the loop's. Runs what was posted, then joins the thread.
  void Stop();

  // Any thread. The loop looks at its pollers again, even if it sleeps now.
  void Wake();

  bool OnLoopThread() const {
    return std::this_thread::get_id() == thread_.get_id();
  }

  // The rest is for the loop's thread only.

  // Calls back with epoll's events, edge-triggered. `fd` stays the caller's and
  // must be open until Unwatch.
  absl::StatusOr<Id> Watch(int fd, uint32_t events,
                           std::function<void(uint32_t)> callback);
  void Unwatch(Id id);

  Id StartTimer(absl::Duration after, std::function<void()> callback);
  void CancelTimer(Id id);

  // Not owned. Must be removed before it is destroyed. `spins`: worth spinning
  // for. Otherwise it is polled after any work, and before the loop sleeps.
  void AddPoller(Poller* poller, bool spins = true);
  void RemovePoller(Poller* poller);

 private:
  struct Watched {
    int fd;
    std::shared_ptr<std::function<void(uint32_t)>> callback;
  };

  EventLoop(absl::Duration spin, UniqueFd epoll, UniqueFd wake);

  enum class Work {
    kNone,
    kSome,
    kMuch,  // of one that does not spin: time has passed
  };

  void Run();
  bool RunPosted();
  void RunTimers(int64_t now);
  Work PollAll();
  bool ArmAll();
  void DisarmAll();
  // Returns whether any watched descriptor had an event. `armed`: pollers are,
  // until the loop is awake.
  bool Wait(int timeout_ms, bool armed);
  int MillisUntilTimer() const;

  // Constant after Start.
  const UniqueFd epoll_;
  const UniqueFd wake_;
  std::thread thread_;

  // Guarded by mu_.
  absl::Mutex mu_;
  std::vector<std::function<void()>> posted_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  // A hint that posted_ or stopping_ changed, to be read without the lock.
  std::atomic<bool> attention_{false};

  // The loop's thread only.
  Id next_id_ = 1;
  absl::flat_hash_map<Id, Watched> watched_;
  std::map<std::pair<int64_t, Id>, std::function<void()>> timers_;
  absl::flat_hash_map<Id, int64_t> timer_due_;  // nanoseconds, monotonic
  struct Polled {
    Poller* poller;  // null: removed during an iteration
    bool spins;
  };
  std::vector<Polled> pollers_;
  int spinning_ = 0;  // pollers that spin
  SpinPolicy policy_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_LOOP_EVENT_LOOP_H_
