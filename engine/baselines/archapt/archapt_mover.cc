#include "engine/baselines/archapt/archapt_mover.h"

#include <pthread.h>

#include "absl/time/time.h"
#include "engine/pmem/background_work.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(1);

}  // namespace

ArchaptMover::ArchaptMover(ArchaptStore* store)
    : store_(store), thread_([this] { Run(); }) {}

ArchaptMover::~ArchaptMover() {
  stopping_.Notify();
  thread_.join();
}

void ArchaptMover::Run() {
  pthread_setname_np(pthread_self(), "mover");
  const BackgroundWork background;
  while (!stopping_.WaitForNotificationWithTimeout(kPeriod)) {
    if (store_->WantsAdvance()) store_->Advance();
  }
}

}  // namespace kamino::engine
