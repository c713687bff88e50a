// The flags that the command line sets.
#ifndef KAMINO_CONFIG_TYPED_FLAGS_H_
#define KAMINO_CONFIG_TYPED_FLAGS_H_

#include "absl/status/status.h"

namespace kamino::config {

// Sets the program's own flags as the command line says. kInvalidArgument: it
// names an unknown flag, or a value that a flag does not take; the message is
// about the first of these, and all other flags are set. Abseil's own flags
// stay as they are, and with --undefok no flag is set: absl::ParseCommandLine,
// which comes after, knows them.
absl::Status SetTypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TYPED_FLAGS_H_
