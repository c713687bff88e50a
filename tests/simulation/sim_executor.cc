#include "tests/simulation/sim_executor.h"

#include <algorithm>
#include <utility>

namespace kamino::simulation {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(15);

}  // namespace

SimExecutor::SimExecutor(Process* process, Random random,
                         absl::Duration most_wait)
    : process_(process), random_(random), most_wait_(most_wait) {}

void SimExecutor::Start(Hooks hooks) {
  hooks_ = std::move(hooks);
  Tick();
}

bool SimExecutor::Post(absl::AnyInvocable<void()> task) {
  if (stopped_ || !process_->up()) return false;
  tasks_.push_back(std::move(task));
  Schedule();
  return true;
}

void SimExecutor::Stop() {
  stopped_ = true;
  tasks_.clear();
}

void SimExecutor::Hang(absl::Duration time) {
  hangs_until_ = process_->world()->now() + time;
}

void SimExecutor::Spend(absl::Duration time) {
  hangs_until_ = std::max(hangs_until_, process_->world()->now()) + time;
}

void SimExecutor::Schedule() {
  if (std::exchange(scheduled_, true)) return;
  process_->After(random_.Between(absl::ZeroDuration(), most_wait_),
                  [this] { RunBatch(); });
}

void SimExecutor::RunBatch() {
  scheduled_ = false;
  const absl::Duration hangs = hangs_until_ - process_->world()->now();
  if (hangs > absl::ZeroDuration()) {
    scheduled_ = true;
    process_->After(hangs, [this] { RunBatch(); });
    return;
  }
  auto tasks = std::exchange(tasks_, {});
  for (auto& task : tasks) task();
  if (std::exchange(tick_due_, false)) hooks_.tick();
  if (hooks_.end_of_batch()) Schedule();
}

void SimExecutor::Tick() {
  tick_due_ = true;
  Schedule();
  process_->After(kTick, [this] { Tick(); });
}

}  // namespace kamino::simulation
