// The host at the other end of a socket.
#ifndef KAMINO_BASE_SOCKET_HOST_H_
#define KAMINO_BASE_SOCKET_HOST_H_

#include <sys/socket.h>

#include <string>

namespace kamino {

// Identifies a host: an IPv4 address, or the first 64 bits of an IPv6 address,
// because one host may own all addresses with the same prefix. "": other
// address families.
std::string HostOf(const sockaddr_storage& peer);

}  // namespace kamino

#endif  // KAMINO_BASE_SOCKET_HOST_H_
