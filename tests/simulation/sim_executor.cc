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
  StandStillUntil(process_->world()->now() + time);
}

void SimExecutor::Spend(absl::Duration time) {
  StandStillUntil(std::max(hangs_until_, process_->world()->now()) + time);
}

void SimExecutor::StandStillUntil(absl::Time end) {
  const absl::Time now = process_->world()->now();
  if (hangs_until_ <= now) {
    TellStoodStill();
    hangs_since_ = now;
  }
  hangs_until_ = end;
}

void SimExecutor::TellStoodStill() {
  const absl::Duration beyond =
      hangs_until_ - std::exchange(hangs_since_, hangs_until_) - kLongStep;
  if (beyond > absl::ZeroDuration() && hooks_.stood_still != nullptr) {
    hooks_.stood_still(beyond);
  }
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
  TellStoodStill();
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
