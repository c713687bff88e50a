// Detects forks. A child process has a copy of its parent's client, with the
// same sockets, rings and mutation numbers but without its threads. Its
// requests would pass for the parent's, and a mutation of the parent could be
// answered with the outcome of one of the child.
#ifndef KAMINO_CLIENT_FORKS_H_
#define KAMINO_CLIENT_FORKS_H_

#include <cstdint>

namespace kamino::client {

// The number of forks between the first process that asked and this one. Any
// thread.
uint64_t Forks();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_FORKS_H_
