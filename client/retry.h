// What to do after an attempt of a call, as a pure function.
#ifndef KAMINO_CLIENT_RETRY_H_
#define KAMINO_CLIENT_RETRY_H_

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

// `attempt` counts from 1; `random` in [0, 1) spreads retries of many clients.
Decision DecideAfter(const absl::Status& status, int attempt, double random);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_RETRY_H_
