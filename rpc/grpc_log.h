// What gRPC says goes where all goes that is logged.
#ifndef KAMINO_RPC_GRPC_LOG_H_
#define KAMINO_RPC_GRPC_LOG_H_

namespace kamino::rpc {

// From now on: by itself gRPC writes to stderr, in lines of its own form. It
// says what GRPC_VERBOSITY asks for; errors without that.
void LogWhatGrpcSays();

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_GRPC_LOG_H_
