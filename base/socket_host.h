// Which host a socket's other end is of.
#ifndef KAMINO_BASE_SOCKET_HOST_H_
#define KAMINO_BASE_SOCKET_HOST_H_

#include <sys/socket.h>

#include <string>

namespace kamino {

// What tells hosts apart: an address of IPv4, or the first 64 bits of one of
// IPv6, which a host has all of. "": it is neither.
std::string HostOf(const sockaddr_storage& peer);

}  // namespace kamino

#endif  // KAMINO_BASE_SOCKET_HOST_H_
