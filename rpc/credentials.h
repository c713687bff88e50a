// Who may talk to whom, and whether others can listen: nothing of it yet, all
// is in the clear. Every server and channel takes its credentials from here, so
// that encryption is a change of this file alone.
#ifndef KAMINO_RPC_CREDENTIALS_H_
#define KAMINO_RPC_CREDENTIALS_H_

#include <memory>

#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace kamino::rpc {

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials();
std::shared_ptr<grpc::ServerCredentials> ServerCredentials();

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_CREDENTIALS_H_
