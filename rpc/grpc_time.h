// Times of gRPC on its monotonic clock, rather than on the wall clock, which
// its C++ interface (std::chrono::system_clock) suggests.
#ifndef KAMINO_RPC_GRPC_TIME_H_
#define KAMINO_RPC_GRPC_TIME_H_

#include "absl/time/time.h"
#include "grpc/support/time.h"

namespace kamino::rpc {

inline gpr_timespec FromNow(absl::Duration wait) {
  return gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_nanos(absl::ToInt64Nanoseconds(wait), GPR_TIMESPAN));
}

// The time left until a deadline, which may be infinite; negative once it has
// passed.
inline absl::Duration LeftUntil(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return absl::InfiniteDuration();
  }
  const gpr_timespec left =
      gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  return absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
}

}  // namespace kamino::rpc

#endif  // KAMINO_RPC_GRPC_TIME_H_
