// The address that a socket is bound or connects to.
#ifndef KAMINO_TRANSPORT_SOCKET_SOCKET_ADDRESS_H_
#define KAMINO_TRANSPORT_SOCKET_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace kamino::transport {

struct SocketAddress {
  sockaddr_storage storage;
  socklen_t length;
};

// The address of a host that is an IPv4 or IPv6 number; nothing for a name.
// Does not block.
std::optional<SocketAddress> AddressOfNumber(const std::string& host,
                                             uint16_t port);

// A copy of an IPv4 or IPv6 address; nothing for another family.
std::optional<SocketAddress> AddressFrom(const sockaddr& from);

// The same host, of IPv4 or IPv6, with another port.
SocketAddress WithPort(SocketAddress address, uint16_t port);

bool AreSame(const SocketAddress& one, const SocketAddress& other);

// host:port in numbers; "unknown" where it is neither IPv4 nor IPv6. Does not
// block.
std::string TextOf(const SocketAddress& address);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_SOCKET_ADDRESS_H_
