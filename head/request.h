// A client's mutation on its way through the head.
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
#include "replica/log_entry.h"
#include "replica/request_identity.h"

namespace kamino::head {

// What a request has waited here.
struct RequestWaits {
  absl::Time came = absl::InfiniteFuture();
  absl::Time began;     // when it was executed first, if it was
  absl::Duration lock;  // all the times that it was parked
  uint32_t parked = 0;  // how often that was
  bool executed = false;

  // From when it came until it was executed first.
  absl::Duration admit() const { return began - came; }
};

// How long it was where, for whoever tells of one that was slow.
struct RequestTimes {
  RequestWaits waits;
  absl::Time answered;
  // Of its log entry, as replica::Stage.
  uint32_t together = 0;  // requests in it; 0: it is part of none
  absl::Duration execute;
  absl::Duration persist;
  // Infinite: the entry was completed before the successor acknowledged it.
  absl::Duration hop = absl::InfiniteDuration();
  absl::Duration complete;
};

// Knows that of a request that is answered now.
class RequestTimesSource {
 public:
  virtual RequestTimes Times() const = 0;
  const absl::Time answered;  // as in them

 protected:
  explicit RequestTimesSource(absl::Time now) : answered(now) {}
  ~RequestTimesSource() = default;
};

struct RequestOutcome {
  absl::Status status;    // with an ErrorDetail payload when not OK
  std::string result;     // of the function
  uint64_t sequence = 0;  // of the mutation the result is of
  // Of a session: its number was voided, and what had it was not executed. OK
  // is what who voids it gets; for whoever sent a mutation under it that is
  // another matter.
  bool voided = false;
  // Nothing was executed: it had been before, or there was nothing to do.
  bool repeated = false;
  // Until `done` returns. Null: slow operations are not told of.
  const RequestTimesSource* times = nullptr;
};

// Moved only: whoever holds it owes the answer.
struct Request {
  replica::Mutation mutation;
  // Whose request it is: it may touch what that scope has, and sessions that
  // are his. Null: it may do everything.
  PrincipalPtr by;
  // On the node's monotonic clock. A request that has not been executed by
  // then is answered kDeadlineExceeded and leaves no trace.
  absl::Time deadline = absl::InfiniteFuture();
  // Of the head's: it drops no more outcomes, or closes no more sessions, than
  // it must, since with more its transaction was too large; or the session that
  // it opens gets few slots, since the heap had no room for more.
  bool evicts_least = false;
  // Of the head's: as so many bytes of arguments it counts in a batch, beyond
  // those that it has.
  size_t weight = 0;
  // Of the head's: it closes the sessions that are due when it is executed.
  bool closes_silent = false;
  // Whether nobody waits for the answer any more: the request is then answered
  // kCancelled, and leaves no trace, unless it has been executed. May be null.
  // Called on the core thread, until `done` is.
  std::function<bool()> abandoned;
  // Not OK: there is no room for the answer now, and the request is answered
  // with that instead of being executed. May be null; called as `abandoned`.
  std::function<absl::Status()> room_for_answer;
  RequestWaits waits;
  absl::Time parked;  // since then, if it is
  bool is_parked = false;
  // Of `mutation`, once it was needed: it takes a digest of all arguments.
  std::optional<replica::RequestIdentity> identity;
  // Called exactly once, on the core thread; must not call back into the node.
  absl::AnyInvocable<void(RequestOutcome)> done;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_REQUEST_H_
