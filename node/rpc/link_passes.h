// Passes for links to other nodes, and for theirs to this one, over the
// authenticated calls between nodes. A pass is for its caller: a member of the
// view, in the incarnation that the view names, or a node that is in no view.
#ifndef KAMINO_NODE_RPC_LINK_PASSES_H_
#define KAMINO_NODE_RPC_LINK_PASSES_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/chain_id.h"
#include "grpcpp/grpcpp.h"
#include "kamino/internal/v1/verbs.grpc.pb.h"
#include "membership/view.h"
#include "rpc/credentials.h"
#include "rpc/pending_calls.h"
#include "transport/passes.h"

namespace kamino::node {

// Thread-safe except Stop, after which no call runs. Before SetSelf and the
// first view it neither asks for passes nor issues any.
class LinkPasses final
    : public transport::PassSource,
      public kamino::internal::v1::ChainLinks::CallbackService {
 public:
  // `credentials`: of its calls. `host_id`: of this node (base/host_id.h).
  LinkPasses(std::string cluster_id, ChainId chain_id, std::string host_id,
             std::shared_ptr<const rpc::Credentials> credentials);
  ~LinkPasses() override;  // Stop()

  // This node's identity.
  void SetSelf(const std::string& node_id, uint64_t incarnation);
  // The members, their addresses and incarnations.
  void SetView(const membership::View& view);
  // Cancels pending calls and waits for them. Not on a thread of gRPC's.
  void Stop();

  // Passes that this node has issued: for its listeners.
  const std::shared_ptr<transport::PassRegistry>& registry() const {
    return registry_;
  }

  // `address`: of a member; its path, without its host.
  void Ask(const std::string& address, absl::Duration timeout,
           Reply reply) override;

  grpc::ServerUnaryReactor* GetPass(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::GetPassRequest* request,
      kamino::internal::v1::GetPassResponse* response) override;

 private:
  using Stub = kamino::internal::v1::ChainLinks::Stub;
  using Calls = rpc::PendingCalls<kamino::internal::v1::GetPassRequest,
                                  kamino::internal::v1::GetPassResponse>;

  // The address for calls of the node with that path, on this host if there is
  // one; "": there is none.
  std::string PeerAt(const std::string& address) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Stub* StubLocked(const std::string& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<transport::LinkPass> Give(
      const grpc::CallbackServerContext& context,
      const kamino::internal::v1::GetPassRequest& request);
  absl::StatusOr<Granted> Answer(const grpc::Status& status,
                                 const Calls::Call& call) const;

  const std::string cluster_id_;
  const ChainId chain_id_;
  const std::string host_id_;
  const std::shared_ptr<const rpc::Credentials> credentials_;
  const std::shared_ptr<transport::PassRegistry> registry_;

  absl::Mutex mutex_;
  std::string node_id_ ABSL_GUARDED_BY(mutex_);
  uint64_t incarnation_ ABSL_GUARDED_BY(mutex_) = 0;
  membership::View view_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // By address. Calls use them, and hold no channel of their own.
  std::map<std::string, std::unique_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
  Calls calls_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_LINK_PASSES_H_
