// How a side that speaks TLS and one that does not tell each other that they
// cannot talk; docs/formats/link.md, "TLS".
#ifndef KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_
#define KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_

#include <cstddef>

namespace kamino::transport {

// Whether a stream that begins with `first` is one of TLS: a handshake's record
// or an alert's.
inline constexpr bool BeginsTls(std::byte first) {
  return first == std::byte{0x16} || first == std::byte{0x15};
}

// Sends a fatal alert as both kinds of peers understand it, ends the stream,
// and takes what has come, as far as that is there: a socket that is closed
// with bytes unread takes back what was sent. Never waits.
void SayAlert(int socket);
// Only the latter two.
void EndPolitely(int socket);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_
