// How far an Archapt store's commits are durable, and the threads that wait for
// progress: of that, or of matrices that other threads dissolve.
#ifndef KAMINO_LAB_ARCHAPT_DURABLE_PROGRESS_H_
#define KAMINO_LAB_ARCHAPT_DURABLE_PROGRESS_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "engine/explore.h"

namespace kamino::engine {

// Thread-safe, but for SetDurable, which is one thread's at a time.
class DurableProgress {
 public:
  explicit DurableProgress(uint64_t durable) : durable_(durable) {}

  // Commits up to this sequence are.
  uint64_t durable() const { return durable_.load(); }
  // Wakes no thread: the room that the commits give back follows.
  void SetDurable(uint64_t sequence) { durable_ = sequence; }

  // Waits until `done()`, which is called with a mutex held, but no longer than
  // `length`. Returns what it says.
  bool Await(absl::Duration length, absl::FunctionRef<bool()> done);
  // Wakes the threads in Await.
  void Announce();

 private:
  std::atomic<uint64_t> durable_;
  Mutex mutex_;  // taken before the backlog's
  CondVar moved_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_DURABLE_PROGRESS_H_
