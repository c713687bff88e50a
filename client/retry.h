// What to do after an attempt of a call, as a pure function.
#ifndef KAMINO_CLIENT_RETRY_H_
#define KAMINO_CLIENT_RETRY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::client {

struct Decision {
  bool retry = false;    // else the status is the call's
  bool refresh = false;  // the chain may have changed: ask for it first
  // The server may have carried the attempt out all the same.
  bool outcome_unknown = false;
  absl::Duration delay;  // before the retry
};

// Counts failed attempts for DecideAfter. Those at another view of the chain
// say nothing of this one, whose head may only need a moment.
class FailureCount {
 public:
  // That of `view_id`, with this one.
  int Add(uint64_t view_id) {
    if (view_id != view_id_) count_ = 0;
    view_id_ = view_id;
    return ++count_;
  }

 private:
  uint64_t view_id_ = 0;
  int count_ = 0;
};

// `attempt` counts from 1; `random` in [0, 1) spreads retries of many clients.
Decision DecideAfter(const absl::Status& status, int attempt, double random);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_RETRY_H_
