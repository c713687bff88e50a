// Errors that clients can act upon: an absl::Status whose payload is a
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

// The same, with a code of the caller's: a procedure's own error.
absl::Status WithReason(absl::Status status, kamino::v1::Reason reason,
                        const std::vector<std::string>& keys = {});

// For a RequestId.since that the chain, which is at mutation `last`, has never
// reached.
absl::Status SinceIsAhead(uint64_t since, uint64_t last);

// REASON_UNSPECIFIED when the status carries none.
kamino::v1::Reason ReasonOf(const absl::Status& status);
kamino::v1::ErrorDetail DetailOf(const absl::Status& status);

// Gives an error of the index about `key` the reason that clients act upon.
// Those of the transaction below it (a lock, a full heap) pass as they are.
absl::Status ExplainKeyError(const absl::Status& status, absl::string_view key);

// A key or value as people can read it in a message: printable, quoted, cut.
std::string Printable(absl::string_view bytes);

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_ERRORS_H_
