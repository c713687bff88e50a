// How long requests of sessions take, by method and code, from when their frame
// is looked at until the answer is given to the carrier.
#ifndef KAMINO_NODE_SESSION_SESSION_METRICS_H_
#define KAMINO_NODE_SESSION_SESSION_METRICS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/session_frame.h"

namespace kamino::node {

// As its metric has it.
std::string NameOf(session::Method method);

// Any thread; some fifty instructions.
void CountSessionRequest(session::Method method, absl::StatusCode code,
                         absl::Duration took);

}  // namespace kamino::node

#endif  // KAMINO_NODE_SESSION_SESSION_METRICS_H_
