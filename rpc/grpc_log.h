// Redirects log lines of gRPC and protobuf to the program's log.
#ifndef KAMINO_RPC_GRPC_LOG_H_
#define KAMINO_RPC_GRPC_LOG_H_

namespace kamino::rpc {

// Redirects both libraries' log lines. By default they write to stderr in their
// own format and block until its reader takes the line, and any peer can cause
// such lines, for example with a string that is not UTF-8. GRPC_VERBOSITY sets
// gRPC's level; by default gRPC logs errors only.
void LogWhatLibrariesSay();

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_GRPC_LOG_H_
