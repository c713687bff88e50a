// Runs a node's core in simulated time; node/driver/core_thread.h runs it on a
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
  // A batch begins at most `most_wait` after work arrives. The process outlives
  // the executor.
  SimExecutor(Process* process, Random random, absl::Duration most_wait);

  void Start(Hooks hooks) override;
  // Fails while the process is down.
  bool Post(absl::AnyInvocable<void()> task) override;
  // There is always room.
  bool PostAndWait(absl::AnyInvocable<void()> task, size_t) override {
    return Post(std::move(task));
  }
  // Posted tasks never run.
  void Stop() override;
  // Nothing runs for that long, while the process's other threads continue.
  void Hang(absl::Duration time);
  // The step that runs now takes that much longer.
  void Spend(absl::Duration time);

 private:
  void Schedule();
  void RunBatch();
  void Tick();
  void TellStoodStill();
  // Runs nothing until `end`, from now on or from its last beginning.
  void StandStillUntil(absl::Time end);

  Process* const process_;
  Random random_;
  const absl::Duration most_wait_;
  Hooks hooks_;
  std::vector<absl::AnyInvocable<void()>> tasks_;
  bool stopped_ = false;
  bool scheduled_ = false;
  bool tick_due_ = false;
  // By the world's time: when the step began that hangs and was not reported
  // yet.
  absl::Time hangs_since_ = absl::InfinitePast();
  absl::Time hangs_until_ = absl::InfinitePast();
};

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_SIM_EXECUTOR_H_
