// Where a link's bytes go: a socket, or TLS over one.
#ifndef KAMINO_TRANSPORT_TCP_BYTE_SINK_H_
#define KAMINO_TRANSPORT_TCP_BYTE_SINK_H_

#include <sys/uio.h>

#include <cstddef>

#include "absl/status/statusor.h"

namespace kamino::transport {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  // Takes as many bytes of the pieces as it can, in order, without waiting;
  // returns how many. 0: it is full, and the socket announces when it is not.
  // Errors are permanent.
  virtual absl::StatusOr<size_t> Write(const iovec* pieces, size_t count) = 0;
};

// The socket stays the caller's.
class SocketSink final : public ByteSink {
 public:
  explicit SocketSink(int socket) : socket_(socket) {}
  absl::StatusOr<size_t> Write(const iovec* pieces, size_t count) override;

 private:
  const int socket_;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_BYTE_SINK_H_
