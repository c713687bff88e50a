#include "node/driver/real_runtime.h"

#include <chrono>

#include "node/driver/core_thread.h"

namespace kamino::node {
namespace {

absl::Time MonotonicNow() {
  return absl::UnixEpoch() +
         absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

NodeRuntime RealRuntime() {
  NodeRuntime runtime;
  runtime.clock = MonotonicNow;
  runtime.executor = std::make_unique<CoreThread>(CoreThread::Options());
  return runtime;
}

}  // namespace kamino::node
