#include "rpc/server.h"

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/resource_quota.h"
#include "grpcpp/server_builder.h"
#include "rpc/call_guard.h"
#include "rpc/channel.h"
#include "rpc/channelz.h"
#include "rpc/credentials.h"
#include "rpc/flood_guard.h"
#include "rpc/grpc_time.h"
#include "rpc/peers.h"

namespace kamino::rpc {
namespace {

// Streams of one connection; rpc/stream_resets.h allows twice as many.
constexpr int kMaxStreams = 1024;
constexpr absl::Duration kGrace = absl::Seconds(1);
// Limit of the time before a connection's first call.
constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);
// Connections of one host with a TLS handshake under way; its clients may all
// connect at once.
constexpr int kMaxHalfOpenOfHost = 256;

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
  // gRPC decompresses a message before it checks the size, so a megabyte could
  // take a gigabyte. Compressed calls get UNIMPLEMENTED.
  for (int i = GRPC_COMPRESS_NONE + 1; i < GRPC_COMPRESS_ALGORITHMS_COUNT;
       ++i) {
    builder->SetCompressionAlgorithmSupportStatus(
        static_cast<grpc_compression_algorithm>(i), false);
  }
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  if (options.max_idle != absl::InfiniteDuration()) {
    Set(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.max_idle, builder);
  }
  Set(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeout, builder);
  Set(GRPC_ARG_KEEPALIVE_TIME_MS, kPingAfter, builder);
  Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeout, builder);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // By default a connection without data gets only two pings.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  Set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kMinPingInterval,
      builder);
}

std::shared_ptr<grpc::ServerCredentials> CredentialsFor(
    const ServerOptions& options, int port) {
  if (options.credentials == nullptr) return ServerCredentials();
  const std::string host = options.listen.substr(0, options.listen.rfind(':'));
  auto credentials =
      options.credentials->ToServe(absl::StrCat(host, ":", port));
  credentials->SetAuthMetadataProcessor(GuardCalls(
      options.access != nullptr
          ? options.access
          : std::make_shared<security::Access>(security::RoleMap())));
  return credentials;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options, const std::vector<grpc::Service*>& services) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  // gRPC's health service lacks its own descriptor, which reflection needs in
  // the program.
  grpc::health::v1::HealthCheckRequest::descriptor();
  auto server = absl::WrapUnique(new Server);
  server->guard_ = FloodGuard::OfProcess();
  Acceptor::Options accepting;
  accepting.listen = options.listen;
  accepting.max_descriptors = options.max_descriptors;
  accepting.bounded_elsewhere = options.bounded_elsewhere;
  accepting.user_timeout = kPingTimeout;
  if (options.credentials != nullptr) {
    accepting.max_half_open_of_host = kMaxHalfOpenOfHost;
  }
  ASSIGN_OR_RETURN(server->acceptor_, Acceptor::Listen(accepting));
  grpc::ServerBuilder builder;
  Configure(options, &builder);
  using Builder = grpc::ServerBuilder::experimental_type;
  std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> to =
      builder.experimental().AddExternalConnectionAcceptor(
          Builder::ExternalConnectionType::FROM_FD,
          CredentialsFor(options, server->acceptor_->port()));
  HostCounts::Known known;
  if (options.credentials != nullptr) {
    auto peers =
        std::make_shared<Peers>(options.credentials, server->acceptor_->port());
    known = [peers](const std::string& address) {
      return peers->Knows(address);
    };
    std::vector<
        std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
        told;
    told.push_back(TellOf(std::move(peers)));
    builder.experimental().SetInterceptorCreators(std::move(told));
  }
  for (grpc::Service* service : services) builder.RegisterService(service);
  {
    absl::MutexLock making(&ServersMutex());
    server->server_ = builder.BuildAndStart();
  }
  if (server->server_ == nullptr) {
    return absl::UnavailableError("gRPC cannot start a server");
  }
  server->acceptor_->Start(
      [to](int descriptor) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters
            connection;
        connection.fd = descriptor;
        to->HandleNewConnection(&connection);
      },
      std::move(known));
  server->guard_->AddServer(server->port(), options.max_process_bytes);
  return server;
}

Server::~Server() {
  if (acceptor_ != nullptr) guard_->RemoveServer(port());
  acceptor_.reset();
  if (server_ != nullptr) {
    server_->Shutdown(FromNow(kGrace));
  }
}

void Server::SetServing(const std::string& name, bool serving) {
  server_->GetHealthCheckService()->SetServingStatus(name, serving);
}

}  // namespace kamino::rpc
