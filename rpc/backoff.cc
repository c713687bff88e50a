#include "rpc/backoff.h"

#include <algorithm>
#include <cmath>

namespace kamino::rpc {
namespace {

constexpr int kMaxDoublings = 30;

}  // namespace

absl::Duration Backoff::After(int failures, double random) const {
  const int doublings = std::clamp(failures - 1, 0, kMaxDoublings);
  return std::min(most, first * std::ldexp(1.0, doublings)) *
         (0.5 + random / 2);
}

}  // namespace kamino::rpc
