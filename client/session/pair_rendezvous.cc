#include "client/session/pair_rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"
#include "grpcpp/client_context.h"
#include "rpc/peers.h"
#include "rpc/status.h"
#include "transport/verbs/send_endpoint.h"

namespace kamino::client {
namespace {

absl::StatusOr<transport::VerbsEndpoint> Answer(
    const grpc::Status& status, const kamino::v1::ConnectPairResponse& response,
    const grpc::ClientContext& context) {
  if (!status.ok()) return rpc::FromGrpc(status);
  auto end = transport::DecodeSendEndpoint(response.end());
  if (!end.ok()) return end;
  // Without TLS the caller has no identity.
  const auto known = context.auth_context();
  if (known == nullptr) return end;
  auto node = rpc::PeerOf(*known);
  if (node.ok()) end->sender = *std::move(node);
  return end;
}

}  // namespace

void PairRendezvous::Know(const std::string& address,
                          std::shared_ptr<Stub> stub) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) stubs_[address] = std::move(stub);
}

void PairRendezvous::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  calls_.Stop();
  absl::MutexLock lock(&mutex_);
  stubs_.clear();
}

absl::StatusOr<std::string> PairRendezvous::Listen(const std::string&,
                                                   Answerer) {
  return absl::UnimplementedError("a client takes no links");
}

void PairRendezvous::Exchange(const std::string& address,
                              const transport::VerbsEndpoint& offer,
                              absl::Duration timeout, Reply reply) {
  kamino::v1::ConnectPairRequest request;
  request.set_end(transport::EncodeSendEndpoint(offer));
  absl::ReleasableMutexLock lock(&mutex_);
  const auto stub = stubs_.find(address);
  if (stopped_ || stub == stubs_.end()) {
    lock.Release();
    return reply(absl::UnavailableError(
        absl::StrCat("there is no node to ask at ", address)));
  }
  auto* const async = stub->second->async();
  const bool begun = calls_.Start(
      timeout, std::move(request),
      [async](auto* context, auto* request, auto* response, auto done) {
        async->ConnectPair(context, request, response, std::move(done));
      },
      [reply = std::move(reply)](const grpc::Status& status,
                                 const Calls::Call& call) {
        reply(Answer(status, call.response, *call.context));
      });
  CHECK(begun);  // because it is not stopped
}

}  // namespace kamino::client
