// Channels without the limits of rpc/channel.h, for tests of servers.
#ifndef KAMINO_TESTS_RPC_PLAIN_CHANNEL_H_
#define KAMINO_TESTS_RPC_PLAIN_CHANNEL_H_

#include <memory>
#include <string>

#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace kamino::rpc {

// A channel as gRPC makes it, without proxies of the environment.
inline std::shared_ptr<grpc::Channel> MakePlainChannel(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials,
    grpc::ChannelArguments arguments = {}) {
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace kamino::rpc

#endif  // KAMINO_TESTS_RPC_PLAIN_CHANNEL_H_
