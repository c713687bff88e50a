#include "tests/simulation/world.h"

#include <algorithm>

#include "tests/faults/fault.h"

namespace kamino::simulation {
namespace {

// Clocks gain or lose up to this part of time: far more than real ones do, and
// less than leases leave room for.
constexpr double kMaxDrift = 2e-3;

}  // namespace

// --- World.

void World::After(absl::Duration delay, Event event) {
  queue_.push_back({now_ + std::max(delay, absl::ZeroDuration()), ++order_,
                    std::move(event)});
  std::push_heap(queue_.begin(), queue_.end());
}

bool World::Step() {
  if (queue_.empty()) return false;
  std::pop_heap(queue_.begin(), queue_.end());
  Entry entry = std::move(queue_.back());
  queue_.pop_back();
  now_ = entry.time;
  ++events_;
  entry.event();
  return true;
}

void World::RunUntil(absl::Time until) {
  while (violation_.ok() && !queue_.empty() && queue_.front().time <= until) {
    Step();
  }
  if (violation_.ok()) now_ = std::max(now_, until);
}

void World::Fail(absl::Status violation) {
  if (!violation_.ok()) return;
  violation_ = std::move(violation);
  trace_.Line(now_, "!!!!!", violation_.message());
}

// --- Process.

Process::Process(World* world, std::string name)
    : world_(world),
      name_(std::move(name)),
      rate_(1 + (static_cast<double>(world->random().Pick(2001)) - 1000) /
                    1000 * kMaxDrift),
      offset_(absl::Seconds(1 + world->random().Pick(100000))) {}

absl::Time Process::Clock() const {
  if (faults::FaultPlanted("membership-clocks-stop-in-sleep")) {
    return absl::UnixEpoch() + offset_ +
           (world_->now() - absl::UnixEpoch() - slept_) * rate_;
  }
  return absl::UnixEpoch() + offset_ +
         (world_->now() - absl::UnixEpoch()) * rate_;
}

void Process::Pause(absl::Duration time) {
  const absl::Time until = std::max(paused_until_, world_->now() + time);
  slept_ += until - std::max(paused_until_, world_->now());
  paused_until_ = until;
  Trace("is stopped for ", absl::FormatDuration(time));
}

void Process::After(absl::Duration wait, World::Event event) {
  if (!up_) return;
  world_->After(wait / rate_, [this, life = life_, event = std::move(event)] {
    RunIn(life, event);
  });
}

void Process::Deliver(World::Event event) {
  if (!up_) return;
  if (!paused()) return event();
  After(absl::ZeroDuration(), std::move(event));
}

void Process::RunIn(uint64_t life, const World::Event& event) {
  if (life != life_ || !up_) return;
  if (!paused()) return event();
  world_->After(paused_until_ - world_->now(),
                [this, life, event] { RunIn(life, event); });
}

void Process::End() {
  up_ = false;
  ++life_;
  slept_ -= std::max(absl::ZeroDuration(), paused_until_ - world_->now());
  paused_until_ = absl::InfinitePast();
}

}  // namespace kamino::simulation
