#include "client/retry.h"

#include <algorithm>

#include "client/error.h"
#include "rpc/backoff.h"

namespace kamino::client {
namespace {

constexpr rpc::Backoff kBackoff = {absl::Milliseconds(5),
                                   absl::Milliseconds(200)};

}  // namespace

Decision DecideAfter(const absl::Status& status, int attempt, double random) {
  Decision decision;
  if (status.ok()) return decision;
  decision.delay =
      std::max(RetryDelayOf(status), kBackoff.After(attempt, random));
  switch (ReasonOf(status)) {
    case kamino::v1::REASON_NOT_HEAD:
    case kamino::v1::REASON_NOT_TAIL:
    // The node was the tail when the read was sent, and is a replica now.
    case kamino::v1::REASON_NOT_CLEAN:
    case kamino::v1::REASON_RECONFIGURING:
    // The node has executed nothing, and another address may be right.
    case kamino::v1::REASON_OTHER_CLUSTER:
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
      return decision;  // the server's answer is final
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
    // Not a node's answer, which has a reason: gRPC here could not accept the
    // answer, and a retry would get the same one.
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
