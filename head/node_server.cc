#include "head/node_server.h"

#include <chrono>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "grpcpp/health_check_service_interface.h"

namespace kamino::head {
namespace {

constexpr char kServiceName[] = "kamino.v1.KaminoService";
// What messages of all calls together may take.
constexpr size_t kMaxMemoryBytes = 1u << 30;
constexpr int kMaxStreams = 4096;  // of one connection
constexpr int kKeepaliveMs = 10000;
constexpr int kKeepaliveTimeoutMs = 5000;
constexpr int kMinPingMs = 1000;  // clients may ping this often
constexpr std::chrono::seconds kGrace(1);

void Configure(grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota("kamino_node");
  quota.Resize(kMaxMemoryBytes);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(KaminoService::kMaxMessageBytes);
  // Without this two processes could share a port, each getting some calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              kKeepaliveTimeoutMs);
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeServer>> NodeServer::Start(
    const std::string& listen, Node* node, grpc::Service* other) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto server = absl::WrapUnique(new NodeServer(node));
  grpc::ServerBuilder builder;
  Configure(&builder);
  builder.AddListeningPort(listen, grpc::InsecureServerCredentials(),
                           &server->port_);
  builder.RegisterService(&server->service_);
  if (other != nullptr) builder.RegisterService(other);
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr || server->port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen for clients on ", listen,
                     ": the port is in use or the address is not ours"));
  }
  server->SetRole(membership::Role::kOutside, false);
  return server;
}

NodeServer::~NodeServer() {
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  }
}

void NodeServer::SetRole(membership::Role role, bool lease_valid) {
  using membership::Role;
  auto* health = server_->GetHealthCheckService();
  const bool single = role == Role::kSingle;
  const bool serves = role != Role::kOutside && lease_valid;
  health->SetServingStatus(kServiceName, serves);
  health->SetServingStatus(kHeadHealth,
                           serves && (single || role == Role::kHead));
  health->SetServingStatus(kTailHealth,
                           serves && (single || role == Role::kTail));
}

}  // namespace kamino::head
