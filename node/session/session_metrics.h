// How long requests of sessions take, by method and code, from when their frame
// is looked at until the answer is given to the carrier.
#ifndef KAMINO_NODE_SESSION_SESSION_METRICS_H_
#define KAMINO_NODE_SESSION_SESSION_METRICS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "proto/session_frame.h"

namespace kamino::node {

// As its metric has it.
std::string NameOf(session::Method method);

// So many that took as long. Any thread; some fifty instructions.
void CountSessionRequests(session::Method method, absl::StatusCode code,
                          int64_t nanos, uint64_t count);

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_METRICS_H_
