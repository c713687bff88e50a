#include "web/timed_stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"

namespace kamino::web {

bool TimedStream::Await(short events) const {
  for (;;) {
    const absl::Duration left = deadline_ - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    pollfd waits = {descriptor_, events, 0};
    const int64_t milliseconds = absl::ToInt64Milliseconds(left) + 1;
    const int ready = poll(&waits, 1, static_cast<int>(milliseconds));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool TimedStream::is_readable() const { return Await(POLLIN); }

bool TimedStream::is_writable() const { return Await(POLLOUT); }

ssize_t TimedStream::read(char* to, size_t size) {
  if (left_ == 0) return -1;
  for (;;) {
    const ssize_t got = recv(descriptor_, to, std::min(size, left_), 0);
    if (got >= 0) {
      left_ -= static_cast<size_t>(got);
      return got;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !Await(POLLIN)) return -1;
  }
}

ssize_t TimedStream::write(const char* from, size_t size) {
  for (;;) {
    const ssize_t sent = send(descriptor_, from, size, MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !Await(POLLOUT)) return -1;
  }
}

// Nobody asks where requests come from.
void TimedStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

void TimedStream::get_local_ip_and_port(std::string& ip, int& port) const {
  get_remote_ip_and_port(ip, port);
}

}  // namespace kamino::web
