// How a side with TLS and one without tell each other that they cannot talk;
// docs/formats/link.md, "TLS".
#ifndef KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_
#define KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_

#include <cstddef>

namespace kamino::transport {

// Whether a stream that begins with `first` is TLS: the first byte of a
// handshake or alert record.
inline constexpr bool BeginsTls(std::byte first) {
  return first == std::byte{0x16} || first == std::byte{0x15};
}

// Sends a fatal alert that both kinds of peers understand, ends the stream, and
// reads the bytes that have arrived: closing a socket with unread bytes would
// discard what was sent. Never waits.
void SayAlert(int socket);
// Only ends the stream and reads.
void EndPolitely(int socket);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_TLS_SIGNS_H_
