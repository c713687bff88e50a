// What a node takes of a client's request, by whichever way it comes.
#ifndef KAMINO_NODE_REQUEST_CHECKS_H_
#define KAMINO_NODE_REQUEST_CHECKS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::node {

// What goes down the chain as one mutation; below what a link carries as one
// message.
inline constexpr size_t kMaxArgumentBytes = size_t{4} << 20;
inline constexpr size_t kMaxCallBytes = size_t{1} << 20;
inline constexpr int kMaxCommitParts = 1000;

// All: REASON_INVALID_ARGUMENT where nothing else is said.

absl::Status CheckArgumentBytes(size_t bytes);

// How many of each a commit has.
absl::Status CheckCommitParts(int preconditions, int then_operations,
                              int else_operations);

// Of a procedure that a client calls. REASON_UNKNOWN_PROCEDURE: it is one of
// the chain's own, which have methods of their own.
absl::Status CheckCall(absl::string_view procedure, size_t argument_bytes);

// What a mutation gets whose number was voided in its session.
absl::Status WasVoided();

}  // namespace kamino::node

#endif  // KAMINO_NODE_REQUEST_CHECKS_H_
