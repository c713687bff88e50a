// Which process of a family this is. Who forks has a copy of a client in the
// child: with the same sockets, rings and numbers of mutations, but without its
// threads. What the child sent by it would be the parent's, and a mutation of
// the parent's could be answered with the outcome of the child's.
#ifndef KAMINO_CLIENT_FORKS_H_
#define KAMINO_CLIENT_FORKS_H_

#include <cstdint>

namespace kamino::client {

// As many as lead to this process from the one that asked first. Any thread.
uint64_t Forks();

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_FORKS_H_
