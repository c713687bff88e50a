// Accepts requests for session links over RDMA: SessionService.ConnectPair.
#ifndef KAMINO_NODE_RPC_SESSION_RENDEZVOUS_H_
#define KAMINO_NODE_RPC_SESSION_RENDEZVOUS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::node {

// Thread-safe. A node only answers; clients ask.
class SessionRendezvous final : public transport::VerbsRendezvous {
 public:
  // There is one place to listen; `address` is ignored.
  absl::StatusOr<std::string> Listen(const std::string& address,
                                     Answerer answerer) override;
  void StopListening(const std::string& address) override;
  // kUnimplemented.
  void Exchange(const std::string& address,
                const transport::VerbsEndpoint& offer, absl::Duration timeout,
                Reply reply) override;

  // Passes the offer to the listener. Replies once, on any thread, perhaps
  // before it returns; kUnavailable: there is no listener.
  void Answer(const transport::VerbsEndpoint& offer, Reply reply);

 private:
  absl::Mutex mutex_;
  Answerer answerer_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_RPC_SESSION_RENDEZVOUS_H_
