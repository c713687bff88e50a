// The maximum durations of calls: one table for all channels.
//
// It applies if the caller sets no timeout. A caller may set a shorter one by
// SetTimeout (rpc/channel.h), but not a longer one.
#ifndef KAMINO_RPC_TIMEOUTS_H_
#define KAMINO_RPC_TIMEOUTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::rpc {

struct Timeout {
  absl::string_view method;  // gRPC's name: "/kamino.v1.KaminoService/Get"
  // From the begin until the last answer. Infinite: a stream without an end of
  // its own.
  absl::Duration most;
};

// All methods of Kamino.
absl::Span<const Timeout> Timeouts();

// As gRPC's service config, in JSON.
std::string ServiceConfig(absl::Span<const Timeout> timeouts);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_TIMEOUTS_H_
