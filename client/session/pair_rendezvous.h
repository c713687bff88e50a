// Requests RDMA links from nodes, by SessionService.ConnectPair. Private to the
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

// Thread-safe. Call Stop before the end.
class PairRendezvous final : public transport::VerbsRendezvous {
 public:
  using Stub = kamino::v1::SessionService::Stub;

  // Sets the stub for requests to `address`.
  void Know(const std::string& address, std::shared_ptr<Stub> stub);

  // Cancels outstanding requests and waits for them; later ones fail. Must not
  // run on a thread of gRPC.
  void Stop();

  // kUnimplemented: clients only connect.
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
