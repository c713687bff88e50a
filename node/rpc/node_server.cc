#include "node/rpc/node_server.h"

#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"

namespace kamino::node {
namespace {

constexpr char kServiceName[] = "kamino.v1.KaminoService";
constexpr size_t kMaxMemoryBytes = 1u << 30;
// Memory of the process, without its snapshots.
constexpr size_t kMaxProcessBytes = 1u << 30;

}  // namespace

absl::StatusOr<std::unique_ptr<NodeServer>> NodeServer::Start(
    const std::string& listen, Node* node, std::vector<grpc::Service*> others,
    std::function<int()> bounded_elsewhere,
    std::shared_ptr<const rpc::Credentials> credentials,
    std::shared_ptr<security::Access> access) {
  auto server = absl::WrapUnique(new NodeServer(node, access));
  rpc::ServerOptions options;
  options.listen = listen;
  options.max_request_bytes = KaminoService::kMaxMessageBytes;
  options.max_memory_bytes = kMaxMemoryBytes;
  options.max_process_bytes =
      kMaxProcessBytes + node->options().snapshots.max_bytes;
  options.bounded_elsewhere = std::move(bounded_elsewhere);
  options.credentials = std::move(credentials);
  options.access = std::move(access);
  others.push_back(&server->service_);
  ASSIGN_OR_RETURN(server->server_, rpc::Server::Start(options, others));
  server->SetRole(membership::Role::kOutside, false);
  return server;
}

void NodeServer::SetRole(membership::Role role, bool may_serve) {
  using membership::Role;
  const bool single = role == Role::kSingle;
  const bool serves = role != Role::kOutside && may_serve;
  server_->SetServing(kServiceName, serves);
  server_->SetServing(kHeadHealth, serves && (single || role == Role::kHead));
  server_->SetServing(kTailHealth, serves && (single || role == Role::kTail));
}

}  // namespace kamino::node
