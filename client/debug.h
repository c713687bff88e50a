// What nodes and managers tell of themselves to whoever looks for what is
// wrong with them.
#ifndef KAMINO_CLIENT_DEBUG_H_
#define KAMINO_CLIENT_DEBUG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kamino/v1/debug.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "rpc/channel.h"

namespace kamino::client {

// Of the process at `address`, host:port, which `channel` leads to.
// kUnimplemented: it is of a release of before, or no process of Kamino's.
absl::StatusOr<kamino::v1::GetDebugResponse> GetDebug(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout);

// Of the node there, whatever chain there is.
absl::StatusOr<kamino::v1::GetNodeStatusResponse> GetNodeStatus(
    const std::string& address, const rpc::ChannelOptions& channel,
    absl::Duration timeout);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_DEBUG_H_
