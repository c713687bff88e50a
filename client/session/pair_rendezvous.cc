#include "client/session/pair_rendezvous.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/client_context.h"
#include "rpc/channel.h"
#include "rpc/peers.h"
#include "rpc/status.h"
#include "transport/verbs/send_endpoint.h"

namespace kamino::client {

// The context holds the channel, which must not end on a thread of gRPC's: it
// is let go of before the call counts as done.
struct PairRendezvous::Call {
  std::unique_ptr<grpc::ClientContext> context =
      std::make_unique<grpc::ClientContext>();
  kamino::v1::ConnectPairRequest request;
  kamino::v1::ConnectPairResponse response;
  Reply reply;

  absl::StatusOr<transport::VerbsEndpoint> Answer(
      const grpc::Status& status) const {
    if (!status.ok()) return rpc::FromGrpc(status);
    auto end = transport::DecodeSendEndpoint(response.end());
    if (!end.ok()) return end;
    // In the clear it is nobody's.
    const auto known = context->auth_context();
    if (known == nullptr) return end;
    auto node = rpc::PeerOf(*known);
    if (node.ok()) end->sender = *std::move(node);
    return end;
  }
};

void PairRendezvous::Know(const std::string& address,
                          std::shared_ptr<Stub> stub) {
  absl::MutexLock lock(&mutex_);
  if (!stopped_) stubs_[address] = std::move(stub);
}

void PairRendezvous::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  for (const std::shared_ptr<Call>& call : calls_) call->context->TryCancel();
  mutex_.Await(absl::Condition(this, &PairRendezvous::NoCalls));
  stubs_.clear();
}

absl::StatusOr<std::string> PairRendezvous::Listen(const std::string&,
                                                   Answerer) {
  return absl::UnimplementedError("a client takes no links");
}

void PairRendezvous::Exchange(const std::string& address,
                              const transport::VerbsEndpoint& offer,
                              absl::Duration timeout, Reply reply) {
  auto call = std::make_shared<Call>();
  rpc::SetTimeout(timeout, call->context.get());
  call->request.set_end(transport::EncodeSendEndpoint(offer));
  call->reply = std::move(reply);
  absl::ReleasableMutexLock lock(&mutex_);
  const auto stub = stubs_.find(address);
  if (stub == stubs_.end()) {
    lock.Release();
    return call->reply(absl::UnavailableError(
        absl::StrCat("there is no node to ask at ", address)));
  }
  calls_.insert(call);
  stub->second->async()->ConnectPair(call->context.get(), &call->request,
                                     &call->response,
                                     [this, call](const grpc::Status& status) {
                                       call->reply(call->Answer(status));
                                       call->reply = nullptr;
                                       absl::MutexLock done(&mutex_);
                                       call->context = nullptr;
                                       calls_.erase(call);
                                     });
}

}  // namespace kamino::client
