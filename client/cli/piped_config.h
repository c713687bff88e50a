// Configuration files that are no regular files: a pipe has its bytes once.
#ifndef KAMINO_CLIENT_CLI_PIPED_CONFIG_H_
#define KAMINO_CLIENT_CLI_PIPED_CONFIG_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace kamino::client {

inline constexpr absl::Duration kPipePatience = absl::Minutes(1);

// Where `path` can be read, again and again. Of a regular file, and of what
// cannot be read at all, that is `path`. Of a pipe (a FIFO, /dev/fd/N) and of a
// character device it is a copy in memory, which the first call makes and the
// process keeps. kInvalidArgument: the pipe was not written and closed within
// `patience`, or has more than a configuration file may have.
absl::StatusOr<std::string> ReadableConfig(
    const std::string& path, absl::Duration patience = kPipePatience);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_PIPED_CONFIG_H_
