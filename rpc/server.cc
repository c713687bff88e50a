#include "rpc/server.h"

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/support/log.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "rpc/channel.h"
#include "rpc/credentials.h"

namespace kamino::rpc {
namespace {

constexpr int kMaxStreams = 4096;  // of one connection
constexpr absl::Duration kGrace = absl::Seconds(1);

void Set(const char* argument, absl::Duration value,
         grpc::ServerBuilder* builder) {
  builder->AddChannelArgument(
      argument, static_cast<int>(absl::ToInt64Milliseconds(value)));
}

void Configure(const ServerOptions& options, grpc::ServerBuilder* builder) {
  grpc::ResourceQuota quota;
  quota.Resize(options.max_memory_bytes);
  builder->SetResourceQuota(quota);
  builder->SetMaxReceiveMessageSize(options.max_request_bytes);
  // Without this two processes could share a port, each getting some calls.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  Set(GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfter, builder);
  Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeout, builder);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // By default two pings are all that a connection without data gets.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  Set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingInterval,
      builder);
}

// What gRPC logs of a port that it does not get is told by the status.
class QuietGrpc {
 public:
  QuietGrpc() {
    gpr_set_log_function([](gpr_log_func_args*) {});
  }
  ~QuietGrpc() { gpr_set_log_function(nullptr); }  // gRPC's own again
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options, const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // gRPC's health service comes without its description, which reflection needs
  // to have in the program.
  grpc::health::v1::HealthCheckRequest::descriptor();
  auto server = absl::WrapUnique(new Server);
  grpc::ServerBuilder builder;
  Configure(options, &builder);
  builder.AddListeningPort(options.listen, ServerCredentials(), &server->port_);
  for (grpc::Service* service : services) builder.RegisterService(service);
  {
    const QuietGrpc quiet;
    server->server_ = builder.BuildAndStart();
  }
  if (server->server_ == nullptr || server->port_ == 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.listen,
                     ": the port is in use or the address is not ours"));
  }
  return server;
}

Server::~Server() {
  if (server_ != nullptr) {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + kGrace));
  }
}

void Server::SetServing(const std::string& name, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(name, serving);
}

}  // namespace kamino::rpc
