#include "base/socket_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "gtest/gtest.h"

namespace kamino {
namespace {

TEST(SocketHostTest, AddressesDistinguishHosts) {
  const auto ip4 = [](const char* text) {
    sockaddr_storage address = {};
    auto& at = reinterpret_cast<sockaddr_in&>(address);
    at.sin_family = AF_INET;
    EXPECT_EQ(inet_pton(AF_INET, text, &at.sin_addr), 1);
    return HostOf(address);
  };
  const auto ip6 = [](const char* text) {
    sockaddr_storage address = {};
    auto& at = reinterpret_cast<sockaddr_in6&>(address);
    at.sin6_family = AF_INET6;
    EXPECT_EQ(inet_pton(AF_INET6, text, &at.sin6_addr), 1);
    return HostOf(address);
  };
  EXPECT_EQ(ip4("10.0.0.1"), ip4("10.0.0.1"));
  EXPECT_NE(ip4("10.0.0.1"), ip4("10.0.0.2"));
  EXPECT_EQ(ip6("::ffff:10.0.0.1"), ip4("10.0.0.1"));
  EXPECT_EQ(ip6("2001:db8:1:2::1"), ip6("2001:db8:1:2:3::4"));
  EXPECT_NE(ip6("2001:db8:1:2::1"), ip6("2001:db8:1:3::1"));
}

}  // namespace
}  // namespace kamino
