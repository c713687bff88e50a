// Limits on clients' requests, for all carriers.
#ifndef KAMINO_NODE_REQUEST_CHECKS_H_
#define KAMINO_NODE_REQUEST_CHECKS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::node {

// Size of one mutation in the chain; below the limit of a link's message.
inline constexpr size_t kMaxArgumentBytes = size_t{4} << 20;
inline constexpr size_t kMaxCallBytes = size_t{1} << 20;
inline constexpr int kMaxCommitParts = 1000;

// All: REASON_INVALID_ARGUMENT unless stated otherwise.

absl::Status CheckArgumentBytes(size_t bytes);

// Checks the number of each in a commit.
absl::Status CheckCommitParts(int preconditions, int then_operations,
                              int else_operations);

// For a procedure that a client calls. REASON_UNKNOWN_PROCEDURE: it is one of
// the chain's own, which have their own methods.
absl::Status CheckCall(absl::string_view procedure, size_t argument_bytes);

// The answer to a mutation whose number was voided in its session.
absl::Status WasVoided();

}  // namespace kamino::node

#endif  // KAMINO_NODE_REQUEST_CHECKS_H_
