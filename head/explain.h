// The engine's errors, for a head's clients.
#ifndef KAMINO_HEAD_EXPLAIN_H_
#define KAMINO_HEAD_EXPLAIN_H_

#include "absl/status/status.h"

namespace kamino::head {

// The same error with the reason that clients see.
absl::Status Explain(const absl::Status& status);

}  // namespace kamino::head

#endif  // KAMINO_HEAD_EXPLAIN_H_
