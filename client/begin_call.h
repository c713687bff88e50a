// Begins the unary calls of the API, for both forms: those that wait and those
// that do not. Private to the library.
#ifndef KAMINO_CLIENT_BEGIN_CALL_H_
#define KAMINO_CLIENT_BEGIN_CALL_H_

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "client/async_client.h"
#include "client/call.h"
#include "client/method.h"
#include "client/runner.h"
#include "client/start_scope.h"

namespace kamino::client {

// Requests that any replica may answer set the field themselves.
template <typename Request>
bool IsForAnyReplica(const Request& request) {
  if constexpr (requires { request.any_replica(); }) {
    return request.any_replica();
  }
  return false;
}

// Lets any replica answer the request if the client's reads go there.
template <typename Request>
void Spread(Reads reads, Request* request) {
  if constexpr (requires { request->any_replica(); }) {
    if (reads == Reads::kAnyReplica) request->set_any_replica(true);
  }
}

// Call after entering the runner.
template <typename Request>
void BeginCall(Runner* runner, Request request, absl::Time deadline,
               Callback<ResponseOf<Request>> done) {
  const StartScope scope;
  if constexpr (Method<Request>::kMutation) {
    std::make_shared<Mutation<Request>>(runner, std::move(request), deadline,
                                        std::move(done))
        ->Start();
  } else {
    const Target target =
        IsForAnyReplica(request) ? Target::kAnyReplica : Target::kTail;
    std::make_shared<Call<Request>>(runner, target, std::move(request),
                                    deadline, std::move(done))
        ->Start();
  }
}

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_BEGIN_CALL_H_
