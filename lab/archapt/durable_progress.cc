#include "lab/archapt/durable_progress.h"

#include "base/clock.h"

namespace kamino::engine {

bool DurableProgress::Await(absl::Duration length,
                            absl::FunctionRef<bool()> done) {
  const absl::Time until = MonotonicNow() + length;
  MutexLock lock(&mutex_);
  while (!done()) {
    if (moved_.WaitWithTimeout(&mutex_, until - MonotonicNow())) {
      return done();
    }
  }
  return true;
}

void DurableProgress::Announce() {
  MutexLock lock(&mutex_);
  moved_.SignalAll();
}

}  // namespace kamino::engine
