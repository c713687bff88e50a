// How long a call may take at most: one table, which every channel goes by.
//
// It is what bounds a call whose caller says nothing. A caller that knows
// better says less by SetTimeout (rpc/channel.h); nobody can say more.
#ifndef KAMINO_RPC_TIMEOUTS_H_
#define KAMINO_RPC_TIMEOUTS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace kamino::rpc {

struct Timeout {
  absl::string_view method;  // as gRPC's: "/kamino.v1.KaminoService/Get"
  // From when it is made until its last answer. Infinite: a stream that has no
  // end of its own.
  absl::Duration most;
};

// Every method of ours.
absl::Span<const Timeout> Timeouts();

// As gRPC's service config, in JSON.
std::string ServiceConfig(absl::Span<const Timeout> timeouts);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_TIMEOUTS_H_
