#include "bench/engine/workload.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "bench/harness/clock.h"
#include "engine/resource_error.h"

namespace kamino::bench {
namespace {

// Seconds of failure: something is wrong that waiting does not heal.
constexpr uint64_t kMaxAttempts = 20'000;
// Longest wait after the first attempt, and the factor up to which it grows.
constexpr double kWaitNanos = 5'000;
constexpr uint64_t kMaxWaits = 40;

void Wait(uint64_t attempt) {
  thread_local Random random(
      std::hash<std::thread::id>()(std::this_thread::get_id()));
  const double most =
      kWaitNanos * static_cast<double>(std::min(attempt, kMaxWaits));
  const double ticks = random.Fraction() * most / NanosPerTick();
  const uint64_t begin = Ticks();
  while (static_cast<double>(Ticks() - begin) < ticks) {
    std::this_thread::yield();
  }
}

}  // namespace

std::string Cell::Name() const {
  return absl::StrCat(workload, "/", distribution, "/", threads, "/",
                      value_size);
}

absl::Status Annotate(const absl::Status& status, absl::string_view what) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
}

bool WorthRetrying(const absl::Status& status, uint64_t attempt) {
  if (attempt >= kMaxAttempts) return false;
  if (!absl::IsAborted(status)) {
    const auto resource = engine::ResourceOf(status);
    const bool passes =
        resource.has_value() && (*resource == engine::Resource::kLog ||
                                 *resource == engine::Resource::kUndoCopy);
    if (!passes) return false;
  }
  Wait(attempt);
  return true;
}

}  // namespace kamino::bench
