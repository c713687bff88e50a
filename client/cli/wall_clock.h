// What time it is for people. Nothing is decided by it but which numbers a
// restored chain goes on with (restore_command.cc).
#ifndef KAMINO_CLIENT_CLI_WALL_CLOCK_H_
#define KAMINO_CLIENT_CLI_WALL_CLOCK_H_

#include <cstdint>

namespace kamino::client {

// Since 1970.
uint64_t UnixMillis();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_WALL_CLOCK_H_
