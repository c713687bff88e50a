// Channels to servers that are none of ours, as etcd: with credentials of
// others' making, and otherwise as those of rpc/channel.h.
#ifndef KAMINO_RPC_FOREIGN_CHANNEL_H_
#define KAMINO_RPC_FOREIGN_CHANNEL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace kamino::rpc {

// `credentials` may be null: all is in the clear. Channels share no
// connections.
std::shared_ptr<grpc::Channel> MakeForeignChannel(
    const std::string& address,
    std::shared_ptr<grpc::ChannelCredentials> credentials);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_FOREIGN_CHANNEL_H_
