// By which trace the calls of a thread are known beyond this program (W3C Trace
// Context): nodes name it in what they log of them.
#ifndef KAMINO_CLIENT_TRACE_SCOPE_H_
#define KAMINO_CLIENT_TRACE_SCOPE_H_

#include <string>
#include <utility>

#include "logs/trace.h"

namespace kamino::client {

// Calls that this thread begins while one is there are sent with its
// traceparent, retries and their connections included:
//
//   TraceScope scope(span.traceparent());  // "00-<32 hex>-<16 hex>-01"
//   client->Put(key, value);
//
// What is no traceparent is as good as none. The innermost counts.
class TraceScope {
 public:
  explicit TraceScope(std::string traceparent)
      : outer_(std::exchange(current_, logs::IsTraceparent(traceparent)
                                           ? std::move(traceparent)
                                           : "")) {}
  ~TraceScope() { current_ = std::move(outer_); }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Of this thread; "": there is none.
  static const std::string& current() { return current_; }

 private:
  static inline thread_local std::string current_;

  std::string outer_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_TRACE_SCOPE_H_
