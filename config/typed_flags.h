// The flags that the command line sets.
#ifndef KAMINO_CONFIG_TYPED_FLAGS_H_
#define KAMINO_CONFIG_TYPED_FLAGS_H_

#include "absl/status/status.h"

namespace kamino::config {

// Sets the program's own flags as the command line says. kInvalidArgument: it
// names an unknown flag, or a value that a flag does not take; the flags behind
// the first of these are not set. Abseil's own flags stay as they are, and with
// --undefok all do: absl::ParseCommandLine, which comes after, knows them.
absl::Status SetTypedFlags(int argc, const char* const* argv);

}  // namespace kamino::config

#endif  // KAMINO_CONFIG_TYPED_FLAGS_H_
