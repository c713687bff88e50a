#include "node/rpc/session_service.h"

#include <utility>

#include "node/rpc/session_stream.h"
#include "node/rpc/status_details.h"

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
  const Node& node = *server_->node();
  response->set_node_id(node.node_id());
  {
    absl::MutexLock lock(&mutex_);
    for (const kamino::v1::Carrier& carrier : carriers_) {
      *response->add_carriers() = carrier;
    }
  }
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(CheckAsked(request->chain_id(), node.chain_id()),
                               *server_->node()->view_board().current(),
                               node.node_id()));
  return reactor;
}

}  // namespace kamino::node
