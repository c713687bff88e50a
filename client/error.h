// The details of a service error, for programs: the reason, the keys, the head
// and the tail. Status codes are gRPC's.
#ifndef KAMINO_CLIENT_ERROR_H_
#define KAMINO_CLIENT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// The ErrorDetail of `status`; empty if it has none.
kamino::v1::ErrorDetail DetailOf(const absl::Status& status);
// REASON_UNSPECIFIED: no detail; the error is the connection's or this
// library's.
kamino::v1::Reason ReasonOf(const absl::Status& status);
// Whether the given seeds or managers belong to different clusters. All later
// calls with them end with the same error.
bool AreOfDifferentClusters(const absl::Status& status);
// The retry delay that the server asks for; zero: none.
absl::Duration RetryDelayOf(const absl::Status& status);

// An error of this library.
absl::Status MakeError(absl::StatusCode code, kamino::v1::Reason reason,
                       absl::string_view message);
absl::Status MakeError(absl::StatusCode code,
                       const kamino::v1::ErrorDetail& detail,
                       absl::string_view message);

// Appends `more` to the message of `status`; keeps its details.
absl::Status WithMore(const absl::Status& status, absl::string_view more);

// Sets `request` in the detail of `status` unless it names a request already.
absl::Status NamedBy(const absl::Status& status, const std::string& request);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_ERROR_H_
