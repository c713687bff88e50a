// What a node's core thread is doing, for whoever watches it
// (node/driver/core_watchdog.h).
#ifndef KAMINO_NODE_DRIVER_CORE_ACTIVITY_H_
#define KAMINO_NODE_DRIVER_CORE_ACTIVITY_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino::node {

// The core thread says what it does; any thread reads it. Costs some stores.
class CoreActivity {
 public:
  // Of a name, what fits.
  static constexpr size_t kMaxName = 48;

  // --- Core thread. A step is what others wait for as a whole: a task, or the
  // end of a batch.

  void BeginStep(absl::string_view what) {
    steps_.fetch_add(1, std::memory_order_release);
    Doing(what);
  }
  // Within a step: what it is about now, and for which client or link, if any.
  void Doing(absl::string_view what, uint64_t whose = 0) {
    std::array<uint64_t, kMaxName / sizeof(uint64_t)> words = {};
    std::memcpy(words.data(), what.data(), std::min(what.size(), kMaxName));
    for (size_t i = 0; i < words.size(); ++i) {
      name_[i].store(words[i], std::memory_order_relaxed);
    }
    whose_.store(whose, std::memory_order_relaxed);
  }
  // The thread waits.
  void Idle() {
    idle_at_.store(steps_.fetch_add(1, std::memory_order_release) + 1,
                   std::memory_order_release);
  }

  // --- Any thread.

  // Changes with every step.
  uint64_t steps() const { return steps_.load(std::memory_order_acquire); }
  bool idle() const {
    return idle_at_.load(std::memory_order_acquire) == steps();
  }
  // As "kv.commit (7)". While it changes, a mixture of before and after.
  std::string ToString() const;

 private:
  std::atomic<uint64_t> steps_{0};
  std::atomic<uint64_t> idle_at_{0};
  std::array<std::atomic<uint64_t>, kMaxName / sizeof(uint64_t)> name_ = {};
  std::atomic<uint64_t> whose_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_ACTIVITY_H_
