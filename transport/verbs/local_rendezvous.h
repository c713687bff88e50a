// A rendezvous inside one process, for tests and benches.
#ifndef KAMINO_TRANSPORT_VERBS_LOCAL_RENDEZVOUS_H_
#define KAMINO_TRANSPORT_VERBS_LOCAL_RENDEZVOUS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "transport/verbs/rendezvous.h"

namespace kamino::transport {

// Addresses are any strings.
class LocalRendezvous final : public VerbsRendezvous {
 public:
  absl::StatusOr<std::string> Listen(const std::string& address,
                                     Answerer answerer) override;
  void StopListening(const std::string& address) override;
  void Exchange(const std::string& address, const VerbsEndpoint& offer,
                absl::Duration timeout, Reply reply) override;

 private:
  absl::Mutex mu_;
  absl::flat_hash_map<std::string, Answerer> answerers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_VERBS_LOCAL_RENDEZVOUS_H_
