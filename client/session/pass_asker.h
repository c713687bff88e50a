// Asks nodes for passes for links over shared memory, by
// SessionService.GetLinkPass. Private to the library.
#ifndef KAMINO_CLIENT_SESSION_PASS_ASKER_H_
#define KAMINO_CLIENT_SESSION_PASS_ASKER_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kamino/v1/session.grpc.pb.h"
#include "rpc/pending_calls.h"
#include "transport/passes.h"

namespace kamino::client {

// Thread-safe. Stop before the end.
class PassAsker final : public transport::PassSource {
 public:
  using Stub = kamino::v1::SessionService::Stub;

  // Where the node is that is asked for a link at `address`.
  void Know(const std::string& address, std::shared_ptr<Stub> stub);

  // Gives up what is under way and waits for it; later ones fail. Not on a
  // thread of gRPC's.
  void Stop();

  void Ask(const std::string& address, absl::Duration timeout,
           Reply reply) override;

 private:
  using Calls = rpc::PendingCalls<kamino::v1::GetLinkPassRequest,
                                  kamino::v1::GetLinkPassResponse>;

  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Stub>> stubs_ ABSL_GUARDED_BY(mutex_);
  Calls calls_;
};

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_SESSION_PASS_ASKER_H_
