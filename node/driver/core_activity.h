// The current activity of a node's core thread, for observers
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

// The core thread writes it, any thread reads it. Costs some stores.
class CoreActivity {
 public:
  // Longer names are cut.
  static constexpr size_t kMaxName = 48;

  // --- Core thread. A step is a unit that others wait for: a task, or the end
  // of a batch.

  void BeginStep(absl::string_view what) {
    CountStep();
    Doing(what);
  }
  // Within a step: the current activity, and its client or link, if any.
  void Doing(absl::string_view what, uint64_t whose = 0) {
    what = what.substr(0, kMaxName);
    for (size_t i = 0; i < name_.size(); ++i) {
      uint64_t word = 0;
      std::memcpy(&word, what.data(), std::min(what.size(), sizeof(word)));
      name_[i].store(word, std::memory_order_relaxed);
      if (what.size() < sizeof(word)) break;  // ToString stops there, too
      what.remove_prefix(sizeof(word));
    }
    whose_.store(whose, std::memory_order_relaxed);
  }
  // The thread waits.
  void Idle() { idle_at_.store(CountStep(), std::memory_order_release); }

  // --- Any thread.

  // Changes with every step.
  uint64_t steps() const { return steps_.load(std::memory_order_acquire); }
  bool idle() const {
    return idle_at_.load(std::memory_order_acquire) == steps();
  }
  // For example "kv.commit (7)". While it changes, a mixture of before and
  // after.
  std::string ToString() const;

 private:
  // The only writer.
  uint64_t CountStep() {
    const uint64_t step = steps_.load(std::memory_order_relaxed) + 1;
    steps_.store(step, std::memory_order_release);
    return step;
  }

  std::atomic<uint64_t> steps_{0};
  std::atomic<uint64_t> idle_at_{0};
  std::array<std::atomic<uint64_t>, kMaxName / sizeof(uint64_t)> name_ = {};
  std::atomic<uint64_t> whose_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_ACTIVITY_H_
