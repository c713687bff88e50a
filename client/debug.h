// Fetches diagnostic data of nodes and managers.
#ifndef KAMINO_CLIENT_DEBUG_H_
#define KAMINO_CLIENT_DEBUG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/v1/debug.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "rpc/channel.h"

namespace kamino::client {

// From the process at `address`, host:port, which `channel` reaches.
// kUnimplemented: it runs an older release, or is not a Kamino process.
absl::StatusOr<kamino::v1::GetDebugResponse> GetDebug(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout);

// Asks the node there, in any chain.
absl::StatusOr<kamino::v1::GetNodeStatusResponse> GetNodeStatus(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DEBUG_H_
