#include "engine/baselines/rewind/rewind_checkpointer.h"

#include <pthread.h>

#include "absl/time/time.h"
#include "engine/pmem/background_work.h"

namespace kamino::engine {
namespace {

constexpr absl::Duration kPeriod = absl::Milliseconds(1);

}  // namespace

RewindCheckpointer::RewindCheckpointer(RewindStore* store)
    : store_(store), thread_([this] { Run(); }) {}

RewindCheckpointer::~RewindCheckpointer() {
  stopping_.Notify();
  thread_.join();
}

void RewindCheckpointer::Run() {
  pthread_setname_np(pthread_self(), "checkpointer");
  const BackgroundWork background;
  while (!stopping_.WaitForNotificationWithTimeout(kPeriod)) {
    if (store_->WantsCheckpoint()) store_->Checkpoint();
  }
}

}  // namespace kamino::engine
