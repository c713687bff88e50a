#include "node/driver/real_runtime.h"

#include "base/clock.h"
#include "node/driver/core_thread.h"

namespace kamino::node {

NodeRuntime RealRuntime() {
  NodeRuntime runtime;
  runtime.clock = MonotonicNow;
  runtime.executor = std::make_unique<CoreThread>(CoreThread::Options());
  return runtime;
}

}  // namespace kamino::node
