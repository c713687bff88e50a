// Duration of session requests, by method and code, from the start of decoding
// their frame until the carrier has the answer.
#ifndef KAMINO_NODE_SESSION_SESSION_METRICS_H_
#define KAMINO_NODE_SESSION_SESSION_METRICS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/session_frame.h"

namespace kamino::node {

// As in the metric.
std::string NameOf(session::Method method);

// Counts `count` requests of that duration. Any thread; some 50 instructions.
void CountSessionRequests(session::Method method, absl::StatusCode code,
                          int64_t nanos, uint64_t count);

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_METRICS_H_
