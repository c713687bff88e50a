// The peer's preface, as it arrives: the preface itself, the bytes that follow
// it for some kinds of links, and a descriptor that may come along.
//
// Not thread-safe.
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
  // For a link of that kind, whose other end is `sender`.
  IncomingPreface(SocketKind kind, SocketSide sender);

  // Receives at most as many bytes as `to` has room for; 0: none are there now.
  // Stores a descriptor in `fd`.
  using Receive = std::function<absl::StatusOr<size_t>(absl::Span<std::byte> to,
                                                       UniqueFd* fd)>;
  // Receives what is there; true: the preface is complete and valid. An error
  // is that of `receive`, or, if unsound(), that of CheckPreface.
  absl::StatusOr<bool> Read(const Receive& receive);
  bool unsound() const { return unsound_; }
  // For an unsound one: the peer wants TLS.
  bool wants_tls() const;

  // Once Read has returned true.
  const Preface& preface() const { return preface_; }
  const std::string& extra() const { return extra_; }
  UniqueFd TakeFd();

 private:
  const SocketKind kind_;
  const SocketSide sender_;
  Preface preface_ = {};
  std::string extra_;
  size_t received_ = 0;  // bytes, including the extra ones
  bool unsound_ = false;
  UniqueFd fd_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_SOCKET_INCOMING_PREFACE_H_
