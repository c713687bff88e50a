// Lines of gRPC and protobuf go to the program's log.
#ifndef KAMINO_RPC_GRPC_LOG_H_
#define KAMINO_RPC_GRPC_LOG_H_

namespace kamino::rpc {

// From now on. By themselves both libraries write to stderr, in lines of their
// own form, and wait for its reader; a peer that sends a string which is not
// UTF-8 makes protobuf write one. gRPC says what GRPC_VERBOSITY asks for;
// errors without that.
void LogWhatLibrariesSay();

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_GRPC_LOG_H_
