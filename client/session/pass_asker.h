// Requests passes for shared-memory links from nodes, by
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

// Thread-safe. Call Stop before the end.
class PassAsker final : public transport::PassSource {
 public:
  using Stub = kamino::v1::SessionService::Stub;

  // Sets the stub for links at `address`.
  void Know(const std::string& address, std::shared_ptr<Stub> stub);

  // Cancels outstanding requests and waits for them; later ones fail. Must not
  // run on a thread of gRPC.
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
