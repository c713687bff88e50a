// Operations of clients that took long: a line of the log for each, some a
// second at most, with where the time went. docs/operate/logs.md says what it
// holds.
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

// What is known of one when its answer has left. Nothing of keys and values but
// how much they are.
struct SlowOperation {
  std::string method;  // as the metric has it: "put"
  // Of a call, the procedure's name; else empty.
  std::string procedure;
  absl::StatusCode code = absl::StatusCode::kOk;
  absl::Duration took;
  // By which clients and logs know it (logs/trace.h); may be empty.
  std::string request;
  std::string traceparent;
  std::string by;    // the identity of who asks; empty: nobody is asked
  std::string from;  // the connection
  std::optional<uint64_t> keys;  // that it names; none: it names none
  uint64_t request_bytes = 0;
  uint64_t answer_bytes = 0;

  // Until the core thread took it up; and from when that had its answer until
  // it was handed on. None: not known.
  std::optional<absl::Duration> core;
  std::optional<absl::Duration> answer;
  // What the head says of a mutation.
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
  // Of one that is not over yet: whether it is worth while to keep what would
  // be told of it.
  bool MayBecomeSlow(absl::Duration took) const {
    return on() && absl::ToInt64Nanoseconds(took) >=
                       threshold_.load(std::memory_order_relaxed) / 2;
  }

  // Counts it, and tells of it, at `now` of the node's clock.
  void Tell(const SlowOperation& slow, absl::Time now);

 private:
  static constexpr int64_t kOff = std::numeric_limits<int64_t>::max();

  std::atomic<int64_t> threshold_{kOff};  // ns
  LogLimit told_;
};

// The line of the log, without what stands at the end of each: request and
// traceparent.
std::string ToString(const SlowOperation& slow);

// "GetResponse" as "get", "BatchGetResponse" as "batch_get": how metrics name
// the method that answers with it.
std::string MethodNameOf(absl::string_view response);

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_SLOW_OPERATIONS_H_
