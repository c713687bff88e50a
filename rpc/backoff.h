// The delay before a retry. It grows with each failure, and is random, so that
// clients that failed together do not retry together.
#ifndef KAMINO_RPC_BACKOFF_H_
#define KAMINO_RPC_BACKOFF_H_

#include "absl/time/time.h"

namespace kamino::rpc {

struct Backoff {
  absl::Duration first;
  absl::Duration most;

  // `failures` in a row, from 1; `random` in [0, 1). At least half of the delay
  // without randomness.
  absl::Duration After(int failures, double random) const;
};

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_BACKOFF_H_
