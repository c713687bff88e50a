// A client's mutation in the head.
#ifndef KAMINO_HEAD_REQUEST_H_
#define KAMINO_HEAD_REQUEST_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/principal.h"
#include "replica/log/log_entry.h"
#include "replica/log/request_identity.h"

namespace kamino::head {

// How long a request has waited here.
struct RequestWaits {
  absl::Time came = absl::InfiniteFuture();
  absl::Time began;     // its first execution, if there was one
  absl::Duration lock;  // total time parked
  uint32_t parked = 0;  // how often
  bool executed = false;

  // From its arrival to its first execution.
  absl::Duration admit() const { return began - came; }
};

// Times by stage, for reports of slow operations.
struct RequestTimes {
  RequestWaits waits;
  absl::Time answered;
  // The times of its log entry, by replica::Stage.
  uint32_t together = 0;  // requests in it; 0: it is part of none
  absl::Duration execute;
  absl::Duration persist;
  // Infinite: the entry was completed before the successor acknowledged it.
  absl::Duration hop = absl::InfiniteDuration();
  absl::Duration complete;
};

// Provides the times of a request that is answered now.
class RequestTimesSource {
 public:
  virtual RequestTimes Times() const = 0;
  const absl::Time answered;  // the time of the answer

 protected:
  explicit RequestTimesSource(absl::Time now) : answered(now) {}
  ~RequestTimesSource() = default;
};

struct RequestOutcome {
  absl::Status status;    // with an ErrorDetail payload when not OK
  std::string result;     // of the function
  uint64_t sequence = 0;  // of the mutation the result is of
  // For a session: its number was voided, and the mutation with that number was
  // not executed. The request that voids it succeeds; a request that sent a
  // mutation under that number fails.
  bool voided = false;
  // Nothing was executed: it had been before, or there was nothing to do.
  bool repeated = false;
  // Valid until `done` returns. Null: slow operations are not reported.
  const RequestTimesSource* times = nullptr;
};

// Move-only: the holder must answer it.
struct Request {
  replica::Mutation mutation;
  // The caller: the request may touch objects of its scope, and its sessions.
  // Null: no limit.
  PrincipalPtr by;
  // On the node's monotonic clock. A request that has not been executed by
  // then is answered kDeadlineExceeded and leaves no trace.
  absl::Time deadline = absl::InfiniteFuture();
  // Set by the head after a failed attempt: the request drops no more outcomes,
  // and closes no more sessions, than it must, because the transaction was too
  // large; or the session that it opens gets few slots, because the heap had no
  // room for more.
  bool evicts_least = false;
  // Set by the head: extra bytes charged to the batch limit, beyond the
  // arguments.
  size_t weight = 0;
  // For the head's own: closes the sessions that are due at its execution.
  bool closes_silent = false;
  // Whether the client has stopped waiting: the request is then answered
  // kCancelled, and leaves no trace, unless it has been executed. May be null.
  // Called on the core thread, until `done` is.
  std::function<bool()> abandoned;
  // Not OK: there is no room for the answer now, and the request gets this
  // error instead of being executed. May be null; called as `abandoned`.
  std::function<absl::Status()> room_for_answer;
  RequestWaits waits;
  absl::Time parked;  // the start, if it is parked
  bool is_parked = false;
  // Identity of `mutation`, computed on demand: it digests all arguments.
  std::optional<replica::RequestIdentity> identity;
  // Called exactly once, on the core thread; must not call back into the node.
  absl::AnyInvocable<void(RequestOutcome)> done;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_REQUEST_H_
