// The wall clock, for users. Only restore_command.cc decides by it: the numbers
// with which a restored chain continues.
#ifndef KAMINO_CLIENT_CLI_WALL_CLOCK_H_
#define KAMINO_CLIENT_CLI_WALL_CLOCK_H_

#include <cstdint>

namespace kamino::client {

// Milliseconds since 1970.
uint64_t UnixMillis();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_CLI_WALL_CLOCK_H_
