#include "node/rpc/session_service.h"

#include <utility>

#include "base/status_macros.h"
#include "node/rpc/session_stream.h"
#include "node/rpc/status_details.h"
#include "rpc/cluster_calls.h"
#include "rpc/peers.h"
#include "transport/verbs/send_endpoint.h"

namespace kamino::node {

void SessionService::SetCarriers(std::vector<kamino::v1::Carrier> carriers) {
  absl::MutexLock lock(&mutex_);
  carriers_ = std::move(carriers);
}

grpc::ServerBidiReactor<kamino::v1::SessionFrame, kamino::v1::SessionFrame>*
SessionService::Connect(grpc::CallbackServerContext* context) {
  return SessionStream::Start(server_, context);
}

grpc::ServerUnaryReactor* SessionService::GetCarriers(
    grpc::CallbackServerContext* context,
    const kamino::v1::GetCarriersRequest* request,
    kamino::v1::GetCarriersResponse* response) {
  response->set_node_id(server_->node()->node_id());
  {
    absl::MutexLock lock(&mutex_);
    for (const kamino::v1::Carrier& carrier : carriers_) {
      *response->add_carriers() = carrier;
    }
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Finish(reactor, Check(context, request->chain_id()));
  return reactor;
}

grpc::ServerUnaryReactor* SessionService::ConnectPair(
    grpc::CallbackServerContext* context,
    const kamino::v1::ConnectPairRequest* request,
    kamino::v1::ConnectPairResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  absl::Status status = Check(context, request->chain_id());
  const auto offer = transport::DecodeSendEndpoint(request->end());
  if (status.ok()) status = offer.status();
  if (!status.ok()) {
    Finish(reactor, status);
    return reactor;
  }
  transport::VerbsEndpoint known = *offer;
  // Without TLS there is no identity; code that needs one reports that.
  if (auto caller = rpc::PeerOf(*context); caller.ok()) {
    known.sender = *std::move(caller);
  }
  rendezvous_->Answer(
      known, [this, reactor,
              response](absl::StatusOr<transport::VerbsEndpoint> answer) {
        if (answer.ok()) {
          response->set_end(transport::EncodeSendEndpoint(*answer));
        }
        Finish(reactor, answer.status());
      });
  return reactor;
}

grpc::ServerUnaryReactor* SessionService::GetLinkPass(
    grpc::CallbackServerContext* context,
    const kamino::v1::GetLinkPassRequest* request,
    kamino::v1::GetLinkPassResponse* response) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  absl::Status status = Check(context, request->chain_id());
  const auto caller = rpc::PeerOf(*context);
  if (status.ok() && !caller.ok()) {
    status = absl::FailedPreconditionError(
        "a pass for a link requires a certificate");
  }
  if (status.ok()) {
    const auto pass = passes_->Issue(*caller);
    status = pass.status();
    if (pass.ok()) {
      response->set_token(pass->token);
      response->set_proof(pass->proof);
      response->set_user(pass->user);
    }
  }
  Finish(reactor, status);
  return reactor;
}

absl::Status SessionService::Check(grpc::CallbackServerContext* context,
                                   ChainId chain_id) const {
  const Node& node = *server_->node();
  RETURN_IF_ERROR(rpc::MeetClient(node.cluster(), context));
  return CheckAsked(chain_id, node.chain_id());
}

void SessionService::Finish(grpc::ServerUnaryReactor* reactor,
                            const absl::Status& status) {
  const Node& node = *server_->node();
  reactor->Finish(ToGrpcStatus(status, *server_->node()->view_board().current(),
                               node.node_id()));
}

}  // namespace kamino::node
