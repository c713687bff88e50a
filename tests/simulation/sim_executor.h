// Runs a node's core in simulated time, as node/driver/core_thread.h does on a
// thread.
#ifndef KAMINO_TESTS_SIMULATION_SIM_EXECUTOR_H_
#define KAMINO_TESTS_SIMULATION_SIM_EXECUTOR_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "node/driver/core_executor.h"
#include "tests/simulation/random.h"
#include "tests/simulation/world.h"

namespace kamino::simulation {

class SimExecutor final : public node::CoreExecutor {
 public:
  // A batch begins at most `most_wait` after there is something to do. The
  // process outlives the executor.
  SimExecutor(Process* process, Random random, absl::Duration most_wait);

  void Start(Hooks hooks) override;
  // Nobody does while the process is down.
  bool Post(absl::AnyInvocable<void()> task) override;
  // There is always room.
  bool PostAndWait(absl::AnyInvocable<void()> task, size_t) override {
    return Post(std::move(task));
  }
  // What was posted never runs.
  void Stop() override;
  // Nothing runs for that long, while the process' other threads go on.
  void Hang(absl::Duration time);
  // What it does now takes so much longer.
  void Spend(absl::Duration time);

 private:
  void Schedule();
  void RunBatch();
  void Tick();
  void TellStoodStill();
  // It does nothing from now, or from when it last began to, until `end`.
  void StandStillUntil(absl::Time end);

  Process* const process_;
  Random random_;
  const absl::Duration most_wait_;
  Hooks hooks_;
  std::vector<absl::AnyInvocable<void()>> tasks_;
  bool stopped_ = false;
  bool scheduled_ = false;
  bool tick_due_ = false;
  // By the world's time: the step that stands still, and is not told yet.
  absl::Time hangs_since_ = absl::InfinitePast();
  absl::Time hangs_until_ = absl::InfinitePast();
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_EXECUTOR_H_
