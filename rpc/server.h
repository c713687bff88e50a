// Servers: how other processes reach this one over gRPC. Each has the standard
// health service, and reflection, which describes every service it has.
#ifndef KAMINO_RPC_SERVER_H_
#define KAMINO_RPC_SERVER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/server.h"
#include "rpc/acceptor.h"
#include "rpc/credentials.h"
#include "security/access.h"

namespace kamino::rpc {

class FloodGuard;

struct ServerOptions {
  std::string listen;  // host:port; port 0 picks one
  int max_request_bytes = 4 << 20;
  // What messages of all calls together may take.
  size_t max_memory_bytes = 64 << 20;
  // What the process may take of its own, beyond which those connections end
  // that send most.
  size_t max_process_bytes = 512 << 20;
  // Connections are taken while this process has fewer descriptors open.
  int max_descriptors = Acceptor::Options().max_descriptors;
  std::function<int()> bounded_elsewhere =
      nullptr;  // as Acceptor::Options has it
  // A connection on which there was no call for so long is closed, so that
  // those who hold some for nothing do not keep others out for ever.
  absl::Duration max_idle = absl::InfiniteDuration();
  // Who this is, and who may call. Null: all is in the clear.
  std::shared_ptr<const Credentials> credentials;
  // With credentials, what they may do. Null: what their certificates name.
  std::shared_ptr<security::Access> access;
};

class Server {
 public:
  // `services` outlive the server. kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options,
      const std::vector<grpc::Service*>& services);
  // Calls have a second to end.
  ~Server();

  int port() const { return acceptor_->port(); }
  // Where it listens: host:port each, in numbers.
  std::vector<std::string> addresses() const { return acceptor_->addresses(); }

  // What the health service says of `name`; "" serves from the start. Any
  // thread.
  void SetServing(const std::string& name, bool serving);

 private:
  Server() = default;

  std::shared_ptr<FloodGuard> guard_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_SERVER_H_
