#include "node/driver/real_runtime.h"

#include "base/clock.h"
#include "base/status_macros.h"
#include "node/driver/core_thread.h"

namespace kamino::node {

absl::StatusOr<NodeRuntime> RealRuntime(absl::Duration spin) {
  CoreThread::Options options;
  options.spin = spin;
  NodeRuntime runtime;
  runtime.clock = MonotonicNow;
  ASSIGN_OR_RETURN(runtime.executor, CoreThread::Create(std::move(options)));
  return runtime;
}

}  // namespace kamino::node
