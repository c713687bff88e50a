#include "engine/kamino/undo_copy_propagator.h"

#include <pthread.h>

#include "absl/time/time.h"
#include "engine/pmem/background_work.h"

namespace kamino::engine {
namespace {

// How long an idle thread's locks may stay. Threads that commit again, or that
// want those locks, do not wait for this.
constexpr absl::Duration kPeriod = absl::Milliseconds(5);

}  // namespace

UndoCopyPropagator::UndoCopyPropagator(KaminoStore* store)
    : store_(store), thread_([this] { Run(); }) {}

UndoCopyPropagator::~UndoCopyPropagator() {
  stopping_.Notify();
  thread_.join();
}

void UndoCopyPropagator::Run() {
  pthread_setname_np(pthread_self(), "propagator");
  const BackgroundWork background;
  while (!stopping_.WaitForNotificationWithTimeout(kPeriod)) {
    store_->Quiesce();
  }
  store_->Quiesce();
}

}  // namespace kamino::engine
