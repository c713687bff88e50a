// Channels to servers of other projects, such as etcd: with custom credentials,
// otherwise like those of rpc/channel.h.
#ifndef KAMINO_RPC_FOREIGN_CHANNEL_H_
#define KAMINO_RPC_FOREIGN_CHANNEL_H_

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace kamino::rpc {

// `credentials` may be null: no TLS. Channels share no connections.
std::shared_ptr<grpc::Channel> MakeForeignChannel(
    const std::string& address,
    std::shared_ptr<grpc::ChannelCredentials> credentials);

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_FOREIGN_CHANNEL_H_
