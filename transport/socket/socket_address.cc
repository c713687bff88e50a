#include "transport/socket/socket_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kamino::transport {
namespace {

template <typename Family>
SocketAddress Copy(const Family& from) {
  SocketAddress address = {};
  std::memcpy(&address.storage, &from, sizeof(from));
  address.length = sizeof(from);
  return address;
}

}  // namespace

std::optional<SocketAddress> AddressOfNumber(const std::string& host,
                                             uint16_t port) {
  sockaddr_in ip4 = {};
  ip4.sin_family = AF_INET;
  ip4.sin_port = htons(port);
  if (::inet_pton(AF_INET, host.c_str(), &ip4.sin_addr) == 1) {
    return Copy(ip4);
  }
  sockaddr_in6 ip6 = {};
  ip6.sin6_family = AF_INET6;
  ip6.sin6_port = htons(port);
  const size_t percent = host.find('%');
  if (::inet_pton(AF_INET6, host.substr(0, percent).c_str(), &ip6.sin6_addr) !=
      1) {
    return std::nullopt;
  }
  if (percent != std::string::npos) {
    const std::string zone = host.substr(percent + 1);
    if (!absl::SimpleAtoi(zone, &ip6.sin6_scope_id)) {
      ip6.sin6_scope_id = ::if_nametoindex(zone.c_str());
    }
  }
  return Copy(ip6);
}

std::optional<SocketAddress> AddressFrom(const sockaddr& from) {
  if (from.sa_family == AF_INET) {
    return Copy(reinterpret_cast<const sockaddr_in&>(from));
  }
  if (from.sa_family == AF_INET6) {
    return Copy(reinterpret_cast<const sockaddr_in6&>(from));
  }
  return std::nullopt;
}

SocketAddress WithPort(SocketAddress address, uint16_t port) {
  if (address.storage.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  }
  return address;
}

bool AreSame(const SocketAddress& one, const SocketAddress& other) {
  return one.length == other.length &&
         std::memcmp(&one.storage, &other.storage, one.length) == 0;
}

std::string TextOf(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.storage.ss_family == AF_INET6) {
    const auto& ip6 = reinterpret_cast<const sockaddr_in6&>(address.storage);
    ::inet_ntop(AF_INET6, &ip6.sin6_addr, text, sizeof(text));
    const std::string zone =
        ip6.sin6_scope_id == 0 ? "" : absl::StrCat("%", ip6.sin6_scope_id);
    return absl::StrCat("[", text, zone, "]:", ntohs(ip6.sin6_port));
  }
  if (address.storage.ss_family != AF_INET) return "unknown";
  const auto& ip4 = reinterpret_cast<const sockaddr_in&>(address.storage);
  ::inet_ntop(AF_INET, &ip4.sin_addr, text, sizeof(text));
  return absl::StrCat(text, ":", ntohs(ip4.sin_port));
}

}  // namespace kamino::transport
