// Asks nodes for links over RDMA, by SessionService.ConnectPair. Private to the
// library.
#ifndef KAMINO_CLIENT_SESSION_PAIR_RENDEZVOUS_H_
#define KAMINO_CLIENT_SESSION_PAIR_RENDEZVOUS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/pending_calls.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::client {

// Thread-safe. Stop before the end.
class PairRendezvous final : public transport::VerbsRendezvous {
 public:
  using Stub = kamino::v1::SessionService::Stub;

  // Where the node is that is asked at `address`.
  void Know(const std::string& address, std::shared_ptr<Stub> stub);

  // Gives up what is under way and waits for it; later ones fail. Not on a
  // thread of gRPC's.
  void Stop();

  // kUnimplemented: a client asks, and is not asked.
  absl::StatusOr<std::string> Listen(const std::string& address,
                                     Answerer answerer) override;
  void StopListening(const std::string&) override {}
  void Exchange(const std::string& address,
                const transport::VerbsEndpoint& offer, absl::Duration timeout,
                Reply reply) override;

 private:
  using Calls = rpc::PendingCalls<kamino::v1::ConnectPairRequest,
                                  kamino::v1::ConnectPairResponse>;

  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
  Calls calls_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_PAIR_RENDEZVOUS_H_
