// Errors with which the library itself ends a call. Private to the library.
#ifndef KAMINO_CLIENT_CALL_ERRORS_H_
#define KAMINO_CLIENT_CALL_ERRORS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/error.h"
#include "client/lane_pool.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

inline absl::Status Closed() {
  return absl::CancelledError("the client is closed");
}

inline absl::Status TooManyCalls() {
  return MakeError(absl::StatusCode::kResourceExhausted,
                   kamino::v1::REASON_OVERLOADED,
                   "this client has max_outstanding calls under way");
}

inline absl::Status NoRoomInWindow(uint32_t window) {
  return MakeError(
      absl::StatusCode::kResourceExhausted, kamino::v1::REASON_OVERLOADED,
      absl::StrCat("no room in time among the ", window,
                   " mutations of this client that may be under way at once"));
}

// `cluster_uuid`: of the cluster that got the mutation; "": not known.
inline absl::Status OutcomeUnknown(const Lane& lane,
                                   const std::string& cluster_uuid,
                                   const absl::Status& cause) {
  return MakeError(
      absl::StatusCode::kDeadlineExceeded, kamino::v1::REASON_OUTCOME_UNKNOWN,
      absl::StrCat("the outcome is unknown; to learn it: kamino outcome ",
                   lane.client_id, " ", lane.number, " ",
                   lane.in_session ? "session" : absl::StrCat(lane.since),
                   cluster_uuid.empty() ? "" : " --cluster_uuid=", cluster_uuid,
                   " (last error: ", cause.message(), ")"));
}

inline absl::Status SessionExpired() {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   kamino::v1::REASON_SESSION_EXPIRED,
                   "the session that it was sent in has expired");
}

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CALL_ERRORS_H_
