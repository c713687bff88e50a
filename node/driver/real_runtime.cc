#include "node/driver/real_runtime.h"

#include <utility>

#include "base/clock.h"
#include "base/status_macros.h"
#include "node/driver/core_thread.h"

namespace kamino::node {

absl::StatusOr<NodeRuntime> RealRuntime(absl::Duration spin,
                                        std::function<void()> goes_on) {
  CoreThread::Options options;
  options.spin = spin;
  options.watchdog.goes_on = std::move(goes_on);
  NodeRuntime runtime;
  runtime.clock = MonotonicNow;
  ASSIGN_OR_RETURN(runtime.executor, CoreThread::Create(std::move(options)));
  return runtime;
}

}  // namespace kamino::node
