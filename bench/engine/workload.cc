#include "bench/engine/workload.h"

#include <thread>

#include "absl/strings/str_cat.h"
#include "engine/resource_error.h"

namespace kamino::bench {
namespace {

// Seconds of failure: something is wrong that waiting does not heal.
constexpr uint64_t kMaxAttempts = 100'000;

}  // namespace

std::string Cell::Name() const {
  return absl::StrCat(workload, "/", distribution, "/", threads, "/",
                      value_size);
}

bool WorthRetrying(const absl::Status& status, uint64_t attempt) {
  if (attempt >= kMaxAttempts) return false;
  if (absl::IsAborted(status)) return true;
  const auto resource = engine::ResourceOf(status);
  const bool passes =
      resource.has_value() && (*resource == engine::Resource::kLog ||
                               *resource == engine::Resource::kBackup);
  if (passes) std::this_thread::yield();
  return passes;
}

}  // namespace kamino::bench
