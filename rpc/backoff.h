// How long to wait before a call is tried again: longer after each failure, and
// spread, so that the many whom one failure has hit do not come back together.
#ifndef KAMINO_RPC_BACKOFF_H_
#define KAMINO_RPC_BACKOFF_H_

#include "absl/time/time.h"

namespace kamino::rpc {

struct Backoff {
  absl::Duration first;
  absl::Duration most;

  // `failures` in a row, from 1 on; `random` in [0, 1). At least half of what
  // it would be without the spread.
  absl::Duration After(int failures, double random) const;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_BACKOFF_H_
