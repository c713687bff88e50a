// A listener that accepts connections and sends nothing.
#ifndef KAMINO_TESTS_MEMBERSHIP_SILENT_PORT_H_
#define KAMINO_TESTS_MEMBERSHIP_SILENT_PORT_H_

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace kamino::membership {

// A port whose connections never end their handshake: a channel to it stays
// in GRPC_CHANNEL_CONNECTING.
class SilentPort {
 public:
  SilentPort() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listener_, any, size), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, any, &size), 0);
    address_ = absl::StrCat("127.0.0.1:", ntohs(at.sin_port));
  }
  ~SilentPort() { close(listener_); }

  const std::string& address() const { return address_; }

 private:
  const int listener_;
  std::string address_;
};

}  // namespace kamino::membership

#endif  // KAMINO_TESTS_MEMBERSHIP_SILENT_PORT_H_
