#include "base/socket_host.h"

#include <netinet/in.h>

#include <cstddef>

namespace kamino {

std::string HostOf(const sockaddr_storage& peer) {
  const auto* const bytes = reinterpret_cast<const char*>(&peer);
  if (peer.ss_family == AF_INET) {
    return std::string(bytes + offsetof(sockaddr_in, sin_addr), 4);
  }
  if (peer.ss_family != AF_INET6) return "";
  const char* const ip6 = bytes + offsetof(sockaddr_in6, sin6_addr);
  const in6_addr& address =
      reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&address) ? std::string(ip6 + 12, 4)
                                        : std::string(ip6, 8);
}

}  // namespace kamino
