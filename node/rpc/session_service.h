// kamino.v1.SessionService of a node: session connections over a gRPC stream,
// for clients that have no link to this node.
#ifndef KAMINO_NODE_RPC_SESSION_SERVICE_H_
#define KAMINO_NODE_RPC_SESSION_SERVICE_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/chain_id.h"
#include "kamino/v1/session.grpc.pb.h"
#include "node/rpc/session_rendezvous.h"
#include "node/session/session_server.h"
#include "transport/passes.h"

namespace kamino::node {

// Thread-safe.
class SessionService final
    : public kamino::v1::SessionService::CallbackService {
 public:
  // `server` must outlive the gRPC server that this is registered with.
  explicit SessionService(SessionServer* server) : server_(server) {}

  // Receives requests for links over RDMA. Any thread.
  const std::shared_ptr<SessionRendezvous>& rendezvous() const {
    return rendezvous_;
  }

  // The passes for links over shared memory. Any thread.
  const std::shared_ptr<transport::PassRegistry>& passes() const {
    return passes_;
  }

  // Other carriers by which this node accepts connections; none before this
  // call.
  void SetCarriers(std::vector<kamino::v1::Carrier> carriers);

  grpc::ServerBidiReactor<kamino::v1::SessionFrame, kamino::v1::SessionFrame>*
  Connect(grpc::CallbackServerContext* context) override;

  grpc::ServerUnaryReactor* GetCarriers(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetCarriersRequest* request,
      kamino::v1::GetCarriersResponse* response) override;

  grpc::ServerUnaryReactor* ConnectPair(
      grpc::CallbackServerContext* context,
      const kamino::v1::ConnectPairRequest* request,
      kamino::v1::ConnectPairResponse* response) override;

  grpc::ServerUnaryReactor* GetLinkPass(
      grpc::CallbackServerContext* context,
      const kamino::v1::GetLinkPassRequest* request,
      kamino::v1::GetLinkPassResponse* response) override;

 private:
  // Checks that a call is for this node's cluster and chain.
  absl::Status Check(grpc::CallbackServerContext* context,
                     ChainId chain_id) const;
  void Finish(grpc::ServerUnaryReactor* reactor, const absl::Status& status);

  SessionServer* const server_;
  const std::shared_ptr<SessionRendezvous> rendezvous_ =
      std::make_shared<SessionRendezvous>();
  const std::shared_ptr<transport::PassRegistry> passes_ =
      std::make_shared<transport::PassRegistry>();
  absl::Mutex mutex_;
  std::vector<kamino::v1::Carrier> carriers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_SESSION_SERVICE_H_
