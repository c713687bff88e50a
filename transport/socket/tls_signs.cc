#include "transport/socket/tls_signs.h"

#include <sys/socket.h>

namespace kamino::transport {
namespace {

// A record of TLS: alert (21), version 3.3, two bytes: fatal (2),
// handshake_failure (40).
constexpr unsigned char kAlert[] = {21, 3, 3, 0, 2, 2, 40};
// Cuts off a peer that keeps sending.
constexpr int kMostReads = 16;

}  // namespace

void SayAlert(int socket) {
  (void)!::send(socket, kAlert, sizeof(kAlert), MSG_DONTWAIT | MSG_NOSIGNAL);
  EndPolitely(socket);
}

void EndPolitely(int socket) {
  ::shutdown(socket, SHUT_WR);
  char bytes[4096];
  for (int i = 0; i < kMostReads; ++i) {
    if (::recv(socket, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace kamino::transport
