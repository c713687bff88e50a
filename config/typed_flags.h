// The flags that the command line sets.
#ifndef KAMINO_CONFIG_TYPED_FLAGS_H_
#define KAMINO_CONFIG_TYPED_FLAGS_H_

#include "absl/status/status.h"

namespace kamino::config {

// Sets the program's own flags from the command line. kInvalidArgument: an
// unknown flag, a value that a flag rejects, or a flag of Abseil that sets
// flags from another source or accepts unknown ones; the flags after it are not
// set. Ignores Abseil's other flags: absl::ParseCommandLine handles them
// afterwards.
absl::Status SetTypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TYPED_FLAGS_H_
