// Errors that clients can act on: an absl::Status whose payload is a
// kamino.v1.ErrorDetail. The gRPC layer turns it into status details.
#ifndef KAMINO_REPLICA_ERRORS_H_
#define KAMINO_REPLICA_ERRORS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::replica {

// A status of the code that belongs to `reason` (see kamino.proto). `keys` are
// cut to 1,024 bytes each and to 16 in number.
absl::Status MakeError(kamino::v1::Reason reason, absl::string_view message,
                       const std::vector<std::string>& keys = {});

// The same, with the caller's code: a procedure's own error.
absl::Status WithReason(absl::Status status, kamino::v1::Reason reason,
                        const std::vector<std::string>& keys = {});

// For a RequestId.since that the chain, which is at mutation `last`, has not
// reached.
absl::Status SinceIsAhead(uint64_t since, uint64_t last);

// REASON_UNSPECIFIED when the status carries none.
kamino::v1::Reason ReasonOf(const absl::Status& status);
kamino::v1::ErrorDetail DetailOf(const absl::Status& status);

// Adds to an error of the index about `key` the reason for clients. Errors of
// the transaction below it (a lock, a full heap) pass unchanged.
absl::Status ExplainKeyError(const absl::Status& status, absl::string_view key);

// A key or value for messages: printable, quoted, cut.
std::string Printable(absl::string_view bytes);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_ERRORS_H_
