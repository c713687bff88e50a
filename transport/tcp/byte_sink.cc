#include "transport/tcp/byte_sink.h"

#include <errno.h>
#include <sys/socket.h>

#include "absl/status/status.h"

namespace kamino::transport {

absl::StatusOr<size_t> SocketSink::Write(const iovec* pieces, size_t count) {
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count;
  while (true) {
    const ssize_t sent =
        ::sendmsg(socket_, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return static_cast<size_t>(sent);
    if (errno == EINTR) continue;
    if (errno == EAGAIN) return size_t{0};
    return absl::UnavailableError(absl::ErrnoToStatus(errno, "send").message());
  }
}

}  // namespace kamino::transport
