// The flags that the command line sets.
#ifndef KAMINO_CONFIG_TYPED_FLAGS_H_
#define KAMINO_CONFIG_TYPED_FLAGS_H_

#include "absl/status/status.h"

namespace kamino::config {

// Sets the program's own flags from the command line. kInvalidArgument: an
// unknown flag, or a value that a flag rejects; the flags after it are not set.
// Ignores Abseil's own flags, and with --undefok all flags:
// absl::ParseCommandLine handles them afterwards.
absl::Status SetTypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TYPED_FLAGS_H_
