// Reads the peer's preface from a socket, as its bytes arrive: the preface
// itself, the extra bytes that some kinds of links send behind it (ExtraBytes),
// and a file descriptor that the peer may pass with them.
//
// Not thread-safe: a SocketLink owns it and uses it on the loop's thread. It
// owns the received descriptor until TakeFd.
#ifndef KAMINO_TRANSPORT_SOCKET_INCOMING_PREFACE_H_
#define KAMINO_TRANSPORT_SOCKET_INCOMING_PREFACE_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/loop/unique_fd.h"
#include "transport/socket/preface.h"

namespace kamino::transport {

class IncomingPreface {
 public:
  // `kind`: of the link. `sender`: the side that sends this preface.
  IncomingPreface(SocketKind kind, SocketSide sender);

  // Receives up to to.size() bytes and returns their number; 0: none have
  // arrived yet. Stores a descriptor that arrives with them in `fd`.
  using Receive = std::function<absl::StatusOr<size_t>(absl::Span<std::byte> to,
                                                       UniqueFd* fd)>;
  // Calls `receive` until the preface is complete (true) or no more bytes have
  // arrived (false; call again when they have). Returns the error of `receive`,
  // or that of CheckPreface, which makes the preface unsound.
  absl::StatusOr<bool> Read(const Receive& receive);
  // CheckPreface has refused the preface.
  bool unsound() const { return unsound_; }
  // The peer's first byte begins TLS. Only if unsound().
  bool wants_tls() const;

  // Only after Read has returned true. TakeFd returns an invalid descriptor if
  // none has arrived.
  const Preface& preface() const { return preface_; }
  const std::string& extra() const { return extra_; }
  UniqueFd TakeFd();

 private:
  const SocketKind kind_;
  const SocketSide sender_;
  Preface preface_ = {};
  std::string extra_;
  size_t received_ = 0;  // bytes of the preface and of `extra_`
  bool unsound_ = false;
  UniqueFd fd_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_INCOMING_PREFACE_H_
