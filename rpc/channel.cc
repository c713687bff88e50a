#include "rpc/channel.h"

#include <time.h>

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"
#include "rpc/call_counts.h"
#include "rpc/cluster_calls.h"
#include "rpc/credentials.h"
#include "rpc/foreign_channel.h"
#include "rpc/grpc_time.h"
#include "rpc/status.h"

// Replaces gRPC's own function (src/core/lib/gpr/time_precise.cc), which uses
// the wall clock if gRPC is built without a processor counter, as in Debian.
// gRPC measures the timeouts of methods (rpc/timeouts.h) by it: after the wall
// clock is set back by an hour, every call would time out before it begins.
// Microseconds.
double gpr_get_cycle_counter() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 +
         static_cast<double>(now.tv_nsec) / 1e3;
}

namespace kamino::rpc {
namespace {

constexpr absl::Duration kFirstReconnect = absl::Milliseconds(50);
// gRPC also limits a connection attempt by the least back-off.
constexpr absl::Duration kConnectTimeout = absl::Seconds(1);
// The least interval between lookups of a name whose address does not answer.
// With gRPC's default, 30 s, a client would not find a moved process for long.
constexpr absl::Duration kLookUpAgain = absl::Seconds(1);

void Set(const char* argument, absl::Duration value,
         grpc::ChannelArguments* arguments) {
  arguments->SetInt(argument,
                    static_cast<int>(absl::ToInt64Milliseconds(value)));
}

std::shared_ptr<grpc::Channel> Make(
    const std::string& address, const ChannelOptions& options,
    grpc::ChannelArguments arguments,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  Set(GRPC_ARG_KEEPALIVE_TIME_MS, options.ping_after, &arguments);
  Set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeout, &arguments);
  // By default a stream without data gets only two pings.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  Set(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnect, &arguments);
  Set(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeout, &arguments);
  Set(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, options.max_reconnect, &arguments);
  Set(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kLookUpAgain, &arguments);
  // By default gRPC uses the proxy that http_proxy and similar variables name,
  // even for loopback addresses. A proxy would see all traffic without TLS, and
  // would resolve addresses in its own network.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetServiceConfigJSON(ServiceConfig(options.timeouts));
  arguments.SetMaxReceiveMessageSize(options.max_answer_bytes);
  std::vector<
      std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
      interceptors;
  if (options.counted) interceptors.push_back(CountCallsMade());
  // After the counter, so that the counter sees the status that the caller
  // gets: answers pass the interceptors in reverse order.
  if (options.cluster != nullptr) {
    interceptors.push_back(NameCluster(options.cluster, address));
  }
  // gRPC percent-decodes targets: the zone of [fe80::1%12]:7001 would change.
  const std::string target = absl::StrReplaceAll(address, {{"%", "%25"}});
  return grpc::experimental::CreateCustomChannelWithInterceptors(
      target, credentials, arguments, std::move(interceptors));
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const ChannelOptions& options) {
  return Make(address, options, grpc::ChannelArguments(),
              options.credentials == nullptr
                  ? ChannelCredentials()
                  : options.credentials->ToCall(address, options.server));
}

std::shared_ptr<grpc::Channel> MakeForeignChannel(
    const std::string& address,
    std::shared_ptr<grpc::ChannelCredentials> credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Make(address, ChannelOptions(), arguments,
              credentials == nullptr ? ChannelCredentials() : credentials);
}

bool MayHaveBeenSent(const absl::Status& status) {
  bool answered = false;
  status.ForEachPayload([&](auto, const auto&) { answered = true; });
  // gRPC has no code for this, and ClientContext::peer() is not set before
  // there is an answer. If gRPC's text changes, more calls count as possibly
  // sent.
  return answered || !absl::IsUnavailable(status) ||
         !absl::StartsWith(status.message(), kNotConnected);
}

void SetTimeout(absl::Duration timeout, grpc::ClientContext* context) {
  context->set_deadline(FromNow(timeout));
}

}  // namespace kamino::rpc
