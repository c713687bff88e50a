#include "engine/pmem/medium_wait.h"

#include <utility>

namespace kamino::engine {
namespace {

thread_local std::shared_ptr<std::atomic<bool>> watched;
thread_local bool waits = false;

}  // namespace

MediumWait::MediumWait() : outer_(!std::exchange(waits, true)) {
  if (outer_ && watched != nullptr) watched->store(true);
}

MediumWait::~MediumWait() {
  if (!outer_) return;
  waits = false;
  if (watched != nullptr) watched->store(false);
}

void MediumWait::Watch(std::shared_ptr<std::atomic<bool>> flag) {
  watched = std::move(flag);
}

}  // namespace kamino::engine
