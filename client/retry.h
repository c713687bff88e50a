// Decides what follows a failed attempt, as a pure function.
#ifndef KAMINO_CLIENT_RETRY_H_
#define KAMINO_CLIENT_RETRY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace kamino::client {

struct Decision {
  bool retry = false;    // otherwise the status ends the call
  bool refresh = false;  // fetch the chain first: it may have changed
  // The attempt may have been executed nevertheless.
  bool outcome_unknown = false;
  absl::Duration delay;  // before the retry
};

// Counts failed attempts for DecideAfter. Attempts in another view do not
// count: the new head may only need a moment.
class FailureCount {
 public:
  // Adds an attempt in `view_id`, and returns their number in that view.
  int Add(uint64_t view_id) {
    if (view_id != view_id_) count_ = 0;
    view_id_ = view_id;
    return ++count_;
  }

 private:
  uint64_t view_id_ = 0;
  int count_ = 0;
};

// `attempt` counts from 1; `random` in [0, 1) spreads the retries of clients.
Decision DecideAfter(const absl::Status& status, int attempt, double random);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_RETRY_H_
