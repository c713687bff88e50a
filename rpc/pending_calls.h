// Outgoing calls, answered on gRPC's threads, that can be cancelled and
// awaited.
#ifndef KAMINO_RPC_PENDING_CALLS_H_
#define KAMINO_RPC_PENDING_CALLS_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "rpc/channel.h"

namespace kamino::rpc {

// Thread-safe. Call Stop before the end.
template <typename Request, typename Response>
class PendingCalls {
 public:
  struct Call {
    // Holds the channel, which must not be destroyed on a gRPC thread, so it is
    // released before the call counts as done.
    std::unique_ptr<grpc::ClientContext> context;
    Request request;
    Response response;
  };
  // Runs on a gRPC thread; destroyed before the call counts as done.
  using Done = std::function<void(const grpc::Status&, const Call&)>;

  // `method(context, request, response, done)` begins the call at a stub, which
  // must outlive the call. `done` is called once, unless this returns false: it
  // is stopped.
  template <typename Method>
  [[nodiscard]] bool Start(absl::Duration timeout, Request request,
                           const Method& method, Done done) {
    auto call = std::make_shared<Call>();
    call->context = std::make_unique<grpc::ClientContext>();
    SetTimeout(timeout, call->context.get());
    call->request = std::move(request);
    absl::MutexLock lock(&mutex_);
    if (stopped_) return false;
    calls_.insert(call);
    method(call->context.get(), &call->request, &call->response,
           [this, call, done = std::move(done)](grpc::Status status) mutable {
             done(status, *call);
             done = nullptr;
             absl::MutexLock lock(&mutex_);
             call->context = nullptr;
             calls_.erase(call);
           });
    return true;
  }

  bool none() const {
    absl::MutexLock lock(&mutex_);
    return calls_.empty();
  }

  // Cancels outstanding calls and waits for them; later ones do not begin. Must
  // not run on a gRPC thread, or with locks that `done` takes.
  void Stop() {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    for (const std::shared_ptr<Call>& call : calls_) call->context->TryCancel();
    mutex_.Await(absl::Condition(
        +[](Calls* calls) { return calls->empty(); }, &calls_));
  }

 private:
  using Calls = absl::flat_hash_set<std::shared_ptr<Call>>;

  mutable absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Calls calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_PENDING_CALLS_H_
