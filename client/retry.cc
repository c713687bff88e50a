#include "client/retry.h"

#include <algorithm>

#include "client/error.h"

namespace kamino::client {
namespace {

constexpr absl::Duration kFirstDelay = absl::Milliseconds(5);
constexpr absl::Duration kMaxDelay = absl::Milliseconds(200);
constexpr int kMaxDoublings = 8;

absl::Duration Backoff(int attempt, double random) {
  const absl::Duration most = std::min(
      kMaxDelay, kFirstDelay * (1 << std::min(attempt - 1, kMaxDoublings)));
  return most * (0.5 + random / 2);
}

}  // namespace

Decision DecideAfter(const absl::Status& status, int attempt, double random) {
  Decision decision;
  if (status.ok()) return decision;
  decision.delay = std::max(RetryDelayOf(status), Backoff(attempt, random));
  switch (ReasonOf(status)) {
    case kamino::v1::REASON_NOT_HEAD:
    case kamino::v1::REASON_NOT_TAIL:
    case kamino::v1::REASON_RECONFIGURING:
      decision.retry = decision.refresh = true;
      return decision;
    case kamino::v1::REASON_OUTCOME_UNKNOWN:
      decision.retry = decision.refresh = decision.outcome_unknown = true;
      return decision;
    case kamino::v1::REASON_OVERLOADED:
      decision.retry = true;
      return decision;
    case kamino::v1::REASON_UNSPECIFIED:
      break;
    default:
      return decision;  // the server's last word
  }
  switch (status.code()) {
    // The connection broke, or the node did not answer in time.
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInternal:
      decision.retry = decision.refresh = decision.outcome_unknown = true;
      return decision;
    // Not a node's word, which has a reason: gRPC here could not take the
    // answer. To ask again gives the same answer.
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kAborted:
      decision.outcome_unknown = true;
      return decision;
    default:
      return decision;
  }
}

}  // namespace kamino::client
