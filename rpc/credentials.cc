#include "rpc/credentials.h"

namespace kamino::rpc {

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentials() {
  return grpc::InsecureChannelCredentials();
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials() {
  return grpc::InsecureServerCredentials();
}

}  // namespace kamino::rpc
