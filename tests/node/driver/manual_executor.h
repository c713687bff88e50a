// Runs a node's core when a test says so.
#ifndef KAMINO_TESTS_NODE_DRIVER_MANUAL_EXECUTOR_H_
#define KAMINO_TESTS_NODE_DRIVER_MANUAL_EXECUTOR_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "node/driver/core_executor.h"

namespace kamino::node {

// Not thread-safe.
class ManualExecutor final : public CoreExecutor {
 public:
  void Start(Hooks hooks) override { hooks_ = std::move(hooks); }
  bool Post(absl::AnyInvocable<void()> task) override {
    if (stopped_) return false;
    tasks_.push_back(std::move(task));
    return true;
  }
  bool PostAndWait(absl::AnyInvocable<void()> task, size_t) override {
    return Post(std::move(task));
  }
  // Drops the posted tasks.
  void Stop() override {
    stopped_ = true;
    tasks_.clear();
  }

  // The next batch has a tick.
  void Tick() { tick_due_ = true; }

  // Runs what was posted, as one batch. Returns whether there is more to do.
  bool RunBatch() {
    auto tasks = std::exchange(tasks_, {});
    for (auto& task : tasks) task();
    if (std::exchange(tick_due_, false)) hooks_.tick();
    return hooks_.end_of_batch();
  }

 private:
  Hooks hooks_;
  std::vector<absl::AnyInvocable<void()>> tasks_;
  bool stopped_ = false;
  bool tick_due_ = false;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_DRIVER_MANUAL_EXECUTOR_H_
