#include "node/session/session_metrics.h"

#include <array>
#include <atomic>
#include <string>

#include "metrics/counters.h"

namespace kamino::node {
namespace {

using session::Method;

constexpr size_t kMethods = session::kLastMethod + 1;
constexpr size_t kCodes = 17;  // of Abseil's, 0 is OK

metrics::LatencyCounters requests(
    "kamino_session_request_seconds",
    "Time of session requests, from the processing of their frame until the "
    "answer is handed on.",
    {"method", "code"});

}  // namespace

std::string NameOf(Method method) {
  switch (method) {
    case Method::kGet:
      return "get";
    case Method::kBatchGet:
      return "batch_get";
    case Method::kPut:
      return "put";
    case Method::kPatch:
      return "patch";
    case Method::kDelete:
      return "delete";
    case Method::kCommit:
      return "commit";
    case Method::kCall:
      return "call";
    case Method::kVoid:
      return "void";
    case Method::kKeepAlive:
      return "keep_alive";
    case Method::kClose:
      return "close";
    case Method::kCancel:
      return "cancel";
    case Method::kTrace:
      return "trace";
  }
  return "unknown";
}

void CountSessionRequests(Method method, absl::StatusCode code, int64_t nanos,
                          uint64_t count) {
  // Looking it up by name each time would slow every request down.
  static std::array<std::array<std::atomic<metrics::Latencies*>, kCodes>,
                    kMethods>
      known{};
  const size_t method_number = static_cast<size_t>(method);
  const size_t code_number = static_cast<size_t>(code);
  if (method_number >= kMethods || code_number >= kCodes) return;
  auto& place = known[method_number][code_number];
  metrics::Latencies* latencies = place.load(std::memory_order_acquire);
  if (latencies == nullptr) {
    latencies = requests.Of({NameOf(method), absl::StatusCodeToString(code)});
    place.store(latencies, std::memory_order_release);
  }
  latencies->Add(nanos, count);
}

}  // namespace kamino::node
