// Calls whose answers are waited for later, by a thread or a coroutine:
//
//   auto a = Start(*client, &Client::GetAsync, request_of_a);
//   auto b = Start(*client, &Client::GetAsync, request_of_b);
//   absl::StatusOr<GetResponse> got = std::move(a).Get();         // waits
//   absl::StatusOr<GetResponse> other = co_await std::move(b);    // suspends
//
// Calls under way together share messages; there is one answer to each.
#ifndef KAMINO_CLIENT_FUTURE_H_
#define KAMINO_CLIENT_FUTURE_H_

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/client.h"

namespace kamino::client {

// One answer, to be taken once. Moved only; one thread's. Who drops it gives
// the answer up, not the call.
template <typename Response>
class Future {
 public:
  using Answer = absl::StatusOr<Response>;

  Future(Future&&) = default;
  Future& operator=(Future&&) = default;

  bool ready() const { return state_->Ready(); }

  // Waits; the call's own timeout bounds that. Not on a thread that answers
  // calls: in a callback, or in a coroutine that went on in one.
  Answer Get() && { return std::exchange(state_, nullptr)->Take(); }

  // A coroutine that awaits it goes on at once if the answer is there, else on
  // the thread that has it, where it must not block, like a callback. Its frame
  // has to last until then: this cannot be cancelled.
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
  friend Future<Answered> Start(Client& client,
                                void (Client::*call)(Request,
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
    // False: the answer has come meanwhile.
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

// Begins one of the client's asynchronous calls. `client` outlives the call,
// not necessarily the future.
template <typename Request, typename Response>
Future<Response> Start(Client& client,
                       void (Client::*call)(Request, Callback<Response>),
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
