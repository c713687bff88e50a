// The gRPC server of a node: its service, and health per role.
#ifndef KAMINO_NODE_RPC_NODE_SERVER_H_
#define KAMINO_NODE_RPC_NODE_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "membership/view.h"
#include "node/driver/node.h"
#include "node/rpc/kamino_service.h"
#include "rpc/server.h"

namespace kamino::node {

// Names that the health service (grpc.health.v1) answers for, besides "" (the
// process is up) and the service's own name (it has a place in the chain).
inline constexpr char kHeadHealth[] = "kamino.head";  // takes mutations now
inline constexpr char kTailHealth[] = "kamino.tail";  // serves reads now

class NodeServer {
 public:
  // `node` must outlive the server, and be stopped before it (its requests are
  // answered then). `others` are served too, and outlive it.
  // `bounded_elsewhere`, `credentials`, `access`: as in rpc::ServerOptions.
  // kUnavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<NodeServer>> Start(
      const std::string& listen, Node* node,
      std::vector<grpc::Service*> others = {},
      std::function<int()> bounded_elsewhere = nullptr,
      std::shared_ptr<const rpc::Credentials> credentials = nullptr,
      std::shared_ptr<security::Access> access = nullptr);

  int port() const { return server_->port(); }
  std::vector<std::string> addresses() const { return server_->addresses(); }

  // Any thread.
  void SetRole(membership::Role role, bool may_serve);

 private:
  NodeServer(Node* node, std::shared_ptr<security::Access> access)
      : access_(std::move(access)), service_(node, access_.get()) {}

  const std::shared_ptr<security::Access> access_;
  KaminoService service_;
  std::unique_ptr<rpc::Server> server_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_NODE_SERVER_H_
