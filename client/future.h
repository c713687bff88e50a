// Calls whose answers a thread or a coroutine waits for later:
//
//   auto a = Start(*client, &Client::GetAsync, request_of_a);
//   auto b = Start(*client, &Client::GetAsync, request_of_b);
//   absl::StatusOr<GetResponse> got = std::move(a).Get();         // waits
//   absl::StatusOr<GetResponse> other = co_await std::move(b);    // suspends
//
// Calls that are outstanding together share messages; each gets its own answer.
#ifndef KAMINO_CLIENT_FUTURE_H_
#define KAMINO_CLIENT_FUTURE_H_

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/async_client.h"
#include "client/client.h"

namespace kamino::client {

// One answer, to be taken once. Move-only, for one thread. Dropping it drops
// the answer, but does not cancel the call.
template <typename Response>
class Future {
 public:
  using Answer = absl::StatusOr<Response>;

  Future(Future&&) = default;
  Future& operator=(Future&&) = default;

  bool ready() const { return state_->Ready(); }

  // Waits, at most for the call's timeout. Must not be called on a thread that
  // answers calls: in a callback, or in a coroutine that a callback resumed.
  Answer Get() && { return std::exchange(state_, nullptr)->Take(); }

  // A coroutine that awaits it continues at once if the answer is there,
  // otherwise on the thread that receives the answer, which it must not block.
  // The coroutine's frame must exist until then; the wait cannot be cancelled.
  auto operator co_await() && {
    struct Awaiter {
      std::shared_ptr<State> state;
      bool await_ready() const { return state->Ready(); }
      bool await_suspend(std::coroutine_handle<> waiter) {
        return state->Suspend(waiter);
      }
      Answer await_resume() { return state->Take(); }
    };
    return Awaiter{std::exchange(state_, nullptr)};
  }

 private:
  template <typename Request, typename Answered>
  friend Future<Answered> Start(AsyncClient& client,
                                void (AsyncClient::*call)(Request,
                                                          Callback<Answered>),
                                Request request);

  class State {
   public:
    bool Ready() const {
      absl::MutexLock lock(&mutex_);
      return answer_.has_value();
    }
    Answer Take() {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(
          +[](std::optional<Answer>* answer) { return answer->has_value(); },
          &answer_));
      return *std::move(answer_);
    }
    // False: the answer has arrived meanwhile.
    bool Suspend(std::coroutine_handle<> waiter) {
      absl::MutexLock lock(&mutex_);
      if (answer_.has_value()) return false;
      waiter_ = waiter;
      return true;
    }
    void Set(Answer answer) {
      std::coroutine_handle<> waiter;
      {
        absl::MutexLock lock(&mutex_);
        answer_ = std::move(answer);
        waiter = waiter_;
      }
      if (waiter != nullptr) waiter.resume();
    }

   private:
    mutable absl::Mutex mutex_;
    std::optional<Answer> answer_ ABSL_GUARDED_BY(mutex_);
    std::coroutine_handle<> waiter_ ABSL_GUARDED_BY(mutex_);
  };

  Future() : state_(std::make_shared<State>()) {}

  std::shared_ptr<State> state_;
};

// Begins an asynchronous call. `client` must outlive the call, but not the
// future.
template <typename Request, typename Response>
Future<Response> Start(AsyncClient& client,
                       void (AsyncClient::*call)(Request, Callback<Response>),
                       Request request) {
  Future<Response> future;
  (client.*call)(std::move(request),
                 [state = future.state_](absl::StatusOr<Response> answer) {
                   state->Set(std::move(answer));
                 });
  return future;
}

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_FUTURE_H_
