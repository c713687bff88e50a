// Channels: this process's gRPC connections to others.
#ifndef KAMINO_RPC_CHANNEL_H_
#define KAMINO_RPC_CHANNEL_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "rpc/cluster_identity.h"
#include "rpc/credentials.h"
#include "rpc/timeouts.h"
#include "security/identity.h"

namespace kamino::rpc {

// A silent peer is pinged after this time while a call waits for it, and is
// given up if it does not answer.
inline constexpr absl::Duration kPingAfter = absl::Seconds(10);
inline constexpr absl::Duration kPingTimeout = absl::Seconds(5);
// Servers close connections with more frequent pings.
inline constexpr absl::Duration kMinPingInterval = absl::Seconds(1);

struct ChannelOptions {
  int max_answer_bytes = 4 << 20;
  // A failed connection is retried after 50 ms, and then at growing intervals
  // up to this. Only while a call waits for it.
  absl::Duration max_reconnect = absl::Milliseconds(500);
  absl::Duration ping_after = kPingAfter;
  // Limits of its calls by method; others have none.
  absl::Span<const Timeout> timeouts = Timeouts();
  // Whether CallsMade counts its calls, which takes some microseconds each.
  bool counted = true;
  // This process's credentials. Null: no TLS.
  std::shared_ptr<const Credentials> credentials;
  // The required role of the server's certificate.
  security::Role server = security::Role::kNode;
  // The cluster that its calls name; servers of other clusters are rejected
  // (rpc/cluster_calls.h). Null: calls name none.
  std::shared_ptr<const ClusterIdentity> cluster;
};

// `address`: host:port. Connects when the first call needs it.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {});

// Whether a call that ended with this status may have reached the server. False
// only if no connection existed to send it, as the text of gRPC's own error
// says. A status with details comes from the server, which received the call
// and may describe a call of its own; errors of our servers have details.
bool MayHaveBeenSent(const absl::Status& status);

// Sets the call's deadline, or leaves that of its method if it is earlier.
void SetTimeout(absl::Duration timeout, grpc::ClientContext* context);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHANNEL_H_
