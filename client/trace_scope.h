// The trace of a thread's calls (W3C Trace Context). Nodes log its identifier.
#ifndef KAMINO_CLIENT_TRACE_SCOPE_H_
#define KAMINO_CLIENT_TRACE_SCOPE_H_

#include <string>
#include <utility>

#include "logs/trace.h"

namespace kamino::client {

// Calls that this thread begins during the scope are sent with its traceparent,
// including their retries and connections:
//
//   TraceScope scope(span.traceparent());  // "00-<32 hex>-<16 hex>-01"
//   client->Put(key, value);
//
// An invalid traceparent is ignored. The innermost scope counts.
class TraceScope {
 public:
  explicit TraceScope(std::string traceparent)
      : outer_(std::exchange(current_, logs::IsTraceparent(traceparent)
                                           ? std::move(traceparent)
                                           : "")) {}
  ~TraceScope() { current_ = std::move(outer_); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // The traceparent of this thread; "": none.
  static const std::string& current() { return current_; }

 private:
  static inline thread_local std::string current_;

  std::string outer_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TRACE_SCOPE_H_
