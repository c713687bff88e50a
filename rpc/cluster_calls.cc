#include "rpc/cluster_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rpc/status.h"

namespace kamino::rpc {
namespace {

using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

template <typename Metadata>
absl::string_view UuidIn(const Metadata& metadata) {
  const auto found = metadata.find(kClusterUuidKey);
  if (found == metadata.end()) return "";
  return absl::string_view(found->second.data(), found->second.size());
}

// One call.
class Named final : public Interceptor {
 public:
  Named(const ClusterIdentity& cluster, const std::string& address,
        ClientRpcInfo* call)
      : cluster_(cluster), address_(address), call_(call) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      std::string uuid = cluster_.uuid();
      if (!uuid.empty()) {
        methods->GetSendInitialMetadata()->emplace(kClusterUuidKey,
                                                   std::move(uuid));
      }
    }
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
      const absl::string_view uuid = UuidIn(*methods->GetRecvInitialMetadata());
      if (!cluster_.Fits(uuid)) {
        another_ = std::string(uuid);
        // Ends a stream of another cluster's server.
        call_->client_context()->TryCancel();
      }
    }
    if (!another_.empty() && methods->QueryInterceptionHookPoint(
                                 InterceptionHookPoints::POST_RECV_STATUS)) {
      Replace(methods->GetRecvStatus());
    }
    methods->Proceed();
  }

 private:
  // Keeps a refusal that the server has explained.
  void Replace(grpc::Status* status) const {
    const absl::Status said = FromGrpc(*status);
    if (IsOtherCluster(said)) return;
    *status = ToGrpc(OtherCluster(absl::StrCat(
        address_, " is of the cluster of ", ClusterName("", another_),
        ", not of cluster ", cluster_.ToString(),
        said.ok() ? "" : "; it says: ", said.ok() ? "" : said.message())));
  }

  const ClusterIdentity& cluster_;
  const std::string& address_;
  ClientRpcInfo* const call_;
  std::string another_;  // in the answer
};

// Lives as long as the channel, so it outlives all calls.
class Factory final
    : public grpc::experimental::ClientInterceptorFactoryInterface {
 public:
  Factory(std::shared_ptr<const ClusterIdentity> cluster, std::string address)
      : cluster_(std::move(cluster)), address_(std::move(address)) {}

  Interceptor* CreateClientInterceptor(ClientRpcInfo* call) override {
    return new Named(*cluster_, address_, call);
  }

 private:
  const std::shared_ptr<const ClusterIdentity> cluster_;
  const std::string address_;
};

// Names the server's cluster in the answer, once the server knows it.
void NameServer(const ClusterIdentity& cluster,
                grpc::CallbackServerContext* context) {
  std::string uuid = cluster.uuid();
  if (!uuid.empty()) {
    context->AddInitialMetadata(kClusterUuidKey, std::move(uuid));
  }
}

}  // namespace

absl::Status MeetCaller(const ClusterIdentity& cluster,
                        grpc::CallbackServerContext* context,
                        bool counts_unnamed) {
  NameServer(cluster, context);
  return cluster.CheckAsked(UuidIn(context->client_metadata()), counts_unnamed);
}

absl::Status MeetClient(const ClusterIdentity& cluster,
                        grpc::CallbackServerContext* context) {
  NameServer(cluster, context);
  return cluster.CheckServed(UuidIn(context->client_metadata()));
}

std::string ClusterUuidIn(const grpc::ClientContext& context) {
  return std::string(UuidIn(context.GetServerInitialMetadata()));
}

std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>
NameCluster(std::shared_ptr<const ClusterIdentity> cluster,
            std::string address) {
  return std::make_unique<Factory>(std::move(cluster), std::move(address));
}

}  // namespace kamino::rpc
