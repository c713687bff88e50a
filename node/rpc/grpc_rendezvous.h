// Sets up verbs links over the nodes' own gRPC servers: an address is where a
// node serves other nodes. Offers carry the sender's view id, so that a node
// with an old view cannot connect. With certificates each side gives the peer's
// certificate to the transport, which gives no memory key to any other peer.
#ifndef KAMINO_NODE_RPC_GRPC_RENDEZVOUS_H_
#define KAMINO_NODE_RPC_GRPC_RENDEZVOUS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/chain_id.h"
#include "grpcpp/grpcpp.h"
#include "kamino/internal/v1/verbs.grpc.pb.h"
#include "rpc/credentials.h"
#include "rpc/pending_calls.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::node {

// Thread-safe except Stop, after which nothing listens and no call runs.
class GrpcRendezvous final
    : public transport::VerbsRendezvous,
      public kamino::internal::v1::VerbsLinks::CallbackService {
 public:
  // `credentials`: of its calls; null: without TLS.
  GrpcRendezvous(std::string cluster_id, ChainId chain_id,
                 std::shared_ptr<const rpc::Credentials> credentials = nullptr);
  ~GrpcRendezvous() override;  // Stop()

  // Cancels pending calls and waits for them. Not on a thread of gRPC's.
  void Stop();

  // There is one place to listen: the server with which this service is
  // registered; `address` is ignored.
  absl::StatusOr<std::string> Listen(const std::string& address,
                                     Answerer answerer) override;
  void StopListening(const std::string& address) override;
  void Exchange(const std::string& address,
                const transport::VerbsEndpoint& offer, absl::Duration timeout,
                Reply reply) override;

  grpc::ServerUnaryReactor* Connect(
      grpc::CallbackServerContext* context,
      const kamino::internal::v1::ConnectRequest* request,
      kamino::internal::v1::ConnectResponse* response) override;

 private:
  using Stub = kamino::internal::v1::VerbsLinks::Stub;
  using Calls = rpc::PendingCalls<kamino::internal::v1::ConnectRequest,
                                  kamino::internal::v1::ConnectResponse>;

  Stub* StubLocked(const std::string& address)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<transport::VerbsEndpoint> Answer(
      const grpc::Status& status, const Calls::Call& call) const;

  const std::string cluster_id_;
  const ChainId chain_id_;
  const std::shared_ptr<const rpc::Credentials> credentials_;

  absl::Mutex mutex_;
  Answerer answerer_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  // By address. Calls use them, and hold no channel of their own.
  std::map<std::string, std::unique_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
  Calls calls_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_GRPC_RENDEZVOUS_H_
