// Channels: how this process reaches others over gRPC.
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

// A peer that has said nothing for so long is pinged, as long as a call waits
// for it, and given up when it does not answer.
inline constexpr absl::Duration kPingAfter = absl::Seconds(10);
inline constexpr absl::Duration kPingTimeout = absl::Seconds(5);
// Servers close connections on which pings come more often than this.
inline constexpr absl::Duration kMinPingInterval = absl::Seconds(1);

struct ChannelOptions {
  int max_answer_bytes = 4 << 20;
  // A connection that cannot be made is tried again after 50 ms and, while that
  // fails, ever less often, up to this. Only while a call waits for it.
  absl::Duration max_reconnect = absl::Milliseconds(500);
  absl::Duration ping_after = kPingAfter;
  // For how long its calls may last; those of methods not named, for ever.
  absl::Span<const Timeout> timeouts = Timeouts();
  // Whether CallsMade counts its calls. That takes some microseconds of each.
  bool counted = true;
  // Who this is. Null: all is in the clear.
  std::shared_ptr<const Credentials> credentials;
  // Who must serve there, if not in the clear.
  security::Role server = security::Role::kNode;
  // Its calls name this cluster, and no server of another one is believed
  // (rpc/cluster_calls.h). Null: calls name none.
  std::shared_ptr<const ClusterIdentity> cluster;
};

// `address`: host:port. Connects when the first call needs it.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options = {});

// Of a call that has ended so: whether it may have reached the other side.
// False only when it is known that no connection was there to send it by, which
// the words of gRPC's own error say. Of one that came with details they are the
// other side's, which took the call and may tell what became of one of its own;
// errors of our servers have details.
bool MayHaveBeenSent(const absl::Status& status);

// The call's deadline, from now on; or that of its method, if that is sooner.
void SetTimeout(absl::Duration timeout, grpc::ClientContext* context);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CHANNEL_H_
