#include "rpc/channel.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/call_counts.h"
#include "rpc/credentials.h"

namespace kamino::rpc {
namespace {

constexpr absl::Duration kFirstReconnect = absl::Milliseconds(50);
// gRPC takes the least back-off for the time that one attempt may last, too.
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);

void Set(const char* argument, absl::Duration value,
         grpc::ChannelArguments* arguments) {
  arguments->SetInt(argument,
                    static_cast<int>(absl::ToInt64Milliseconds(value)));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  Set(GRPC_ARG_KEEPALIVE_TIME_MS, options.ping_after, &arguments);
  Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeout, &arguments);
  // By default two pings are all that a stream without data gets.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  Set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnect, &arguments);
  Set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeout, &arguments);
  Set(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, options.max_reconnect, &arguments);
  arguments.SetServiceConfigJSON(ServiceConfig(options.timeouts));
  arguments.SetMaxReceiveMessageSize(options.max_answer_bytes);
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      interceptors;
  if (options.counted) interceptors.push_back(CountCallsMade());
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      address, ChannelCredentials(), arguments, std::move(interceptors));
}

bool MayHaveBeenSent(const absl::Status& status) {
  bool answered = false;
  status.ForEachPayload([&](auto, const auto&) { answered = true; });
  // gRPC has no code for it, and ClientContext::peer() is not set before there
  // is an answer. Should its words change, more calls are in doubt.
  return answered || !absl::IsUnavailable(status) ||
         !(absl::StartsWith(status.message(),
                            "failed to connect to all addresses") ||
           absl::StartsWith(status.message(), "DNS resolution failed for "));
}

void SetTimeout(absl::Duration timeout, grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + timeout));
}

}  // namespace kamino::rpc
