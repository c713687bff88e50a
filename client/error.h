// What an error of the service says, for programs: the reason, the keys, where
// head and tail are. Status codes are gRPC's.
#ifndef KAMINO_CLIENT_ERROR_H_
#define KAMINO_CLIENT_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {

// The ErrorDetail that came with `status`; empty when none did.
kamino::v1::ErrorDetail DetailOf(const absl::Status& status);
// REASON_UNSPECIFIED when there is none: the error is the connection's or this
// library's.
kamino::v1::Reason ReasonOf(const absl::Status& status);
// Whether the seeds or managers that were named are of different clusters. All
// later calls with the same ones end so.
bool AreOfDifferentClusters(const absl::Status& status);
// How long the server asks to wait before a retry; zero when it does not say.
absl::Duration RetryDelayOf(const absl::Status& status);

// An error of this library's own.
absl::Status MakeError(absl::StatusCode code, kamino::v1::Reason reason,
                       absl::string_view message);
absl::Status MakeError(absl::StatusCode code,
                       const kamino::v1::ErrorDetail& detail,
                       absl::string_view message);

// `status`, whose message goes on with `more`; its details stay.
absl::Status WithMore(const absl::Status& status, absl::string_view more);

// `status`, whose detail says that it is about `request` unless it names one.
absl::Status NamedBy(const absl::Status& status, const std::string& request);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_ERROR_H_
