// Configuration files that are not regular files: a pipe can be read only once,
// and the client reads its configuration several times.
#ifndef KAMINO_CLIENT_CLI_PIPED_CONFIG_H_
#define KAMINO_CLIENT_CLI_PIPED_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kamino::client {

inline constexpr absl::Duration kPipePatience = absl::Minutes(1);

// A path at which the content of `path` can be read repeatedly. For a pipe (a
// FIFO, /dev/fd/N) or a character device it is a copy in memory, which the
// first call makes and the process keeps; for anything else it is `path`.
// kInvalidArgument: the pipe was not written and closed within `patience`, or
// has more bytes than a configuration file may have.
absl::StatusOr<std::string> ReadableConfig(
    const std::string& path, absl::Duration patience = kPipePatience);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_PIPED_CONFIG_H_
