// Logs slow operations of clients: a line for each, at most some a second, with
// where the time went. docs/operate/logs.md describes the line.
#ifndef KAMINO_NODE_DRIVER_SLOW_OPERATIONS_H_
#define KAMINO_NODE_DRIVER_SLOW_OPERATIONS_H_

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/log_limit.h"
#include "head/request.h"

namespace kamino::node {

// A slow operation, when its answer has left. Contains only the sizes of keys
// and values.
struct SlowOperation {
  std::string method;  // as in the metric: "put"
  // For a call, the procedure's name; else empty.
  std::string procedure;
  absl::StatusCode code = absl::StatusCode::kOk;
  absl::Duration took;
  // The name by which clients and logs know it (logs/trace.h); may be empty.
  std::string request;
  std::string traceparent;
  std::string by;    // the caller's identity; empty: no authentication
  std::string from;  // the connection
  std::optional<uint64_t> keys;  // how many it names; none: no keys
  uint64_t request_bytes = 0;
  uint64_t answer_bytes = 0;

  // Until the core thread began it; and from the core thread's answer until it
  // was passed on. None: unknown.
  std::optional<absl::Duration> core;
  std::optional<absl::Duration> answer;
  // The head's times of a mutation.
  std::optional<head::RequestTimes> head;
};

// Thread-safe.
class SlowOperations {
 public:
  SlowOperations();

  // Zero, as at first: nothing is slow.
  void SetThreshold(absl::Duration threshold);

  bool on() const { return threshold_.load(std::memory_order_relaxed) != kOff; }
  bool IsSlow(int64_t nanos) const {
    return nanos >= threshold_.load(std::memory_order_relaxed);
  }
  bool IsSlow(absl::Duration took) const {
    return on() && IsSlow(absl::ToInt64Nanoseconds(took));
  }
  // For an unfinished operation: whether details for the report are worth
  // keeping.
  bool MayBecomeSlow(absl::Duration took) const {
    return on() && absl::ToInt64Nanoseconds(took) >=
                       threshold_.load(std::memory_order_relaxed) / 2;
  }

  // Counts it, and logs it, at `now` of the node's clock.
  void Tell(const SlowOperation& slow, absl::Time now);

 private:
  static constexpr int64_t kOff = std::numeric_limits<int64_t>::max();

  std::atomic<int64_t> threshold_{kOff};  // ns
  LogLimit told_;
};

// The line of the log, without the common end of each: request and traceparent.
std::string ToString(const SlowOperation& slow);

// "GetResponse" as "get", "BatchGetResponse" as "batch_get": the metrics' name
// of the method with that response.
std::string MethodNameOf(absl::string_view response);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_SLOW_OPERATIONS_H_
