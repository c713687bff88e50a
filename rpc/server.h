// gRPC servers of this process. Each includes the standard health service, and
// reflection, which describes all of its services.
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
  // Limit of the messages of all calls together.
  size_t max_memory_bytes = 64 << 20;
  // Limit of the process's private memory, beyond which the connections that
  // send the most end.
  size_t max_process_bytes = 512 << 20;
  // Connections are accepted while this process has fewer open descriptors.
  int max_descriptors = Acceptor::Options().max_descriptors;
  std::function<int()> bounded_elsewhere =
      nullptr;  // as Acceptor::Options has it
  // Closes a connection without calls for this time, so that idle clients do
  // not keep others out forever.
  absl::Duration max_idle = absl::InfiniteDuration();
  // This process's credentials, and the callers that it trusts. Null: no TLS.
  std::shared_ptr<const Credentials> credentials;
  // The callers' permissions. Null: as their certificates say.
  std::shared_ptr<security::Access> access;
};

class Server {
 public:
  // `services` must outlive the server. kUnavailable: the address cannot be
  // bound.
  static absl::StatusOr<std::unique_ptr<Server>> Start(
      const ServerOptions& options,
      const std::vector<grpc::Service*>& services);
  // Outstanding calls have a second to end.
  ~Server();

  int port() const { return acceptor_->port(); }
  // The listening addresses: numeric host:port each.
  std::vector<std::string> addresses() const { return acceptor_->addresses(); }

  // Sets the health of service `name`; "" serves from the start. Any thread.
  void SetServing(const std::string& name, bool serving);

 private:
  Server() = default;

  std::shared_ptr<FloodGuard> guard_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Acceptor> acceptor_;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_SERVER_H_
