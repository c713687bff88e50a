#include "web/timed_stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "openssl/err.h"
#include "openssl/ssl.h"
#include "security/certificate.h"
#include "security/identity.h"

namespace kamino::web {
namespace {

constexpr size_t kMost = 1 << 20;  // per call: OpenSSL counts in int

}  // namespace

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

void TimedStream::TlsDeleter::operator()(SSL* connection) const {
  SSL_free(connection);
}

int TimedStream::Complete(absl::FunctionRef<int()> call) {
  for (;;) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return result;
    const int error = SSL_get_error(tls_.get(), result);
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    const bool reads = error == SSL_ERROR_WANT_READ;
    if (!reads && error != SSL_ERROR_WANT_WRITE) break;
    if (!Await(reads ? POLLIN : POLLOUT)) break;
  }
  ERR_clear_error();
  return -1;
}

bool TimedStream::BeginTls(SSL_CTX* context) {
  tls_.reset(SSL_new(context));
  if (tls_ == nullptr || SSL_set_fd(tls_.get(), descriptor_) != 1) return false;
  if (Complete([this] { return SSL_accept(tls_.get()); }) <= 0) return false;
  const auto peer = security::Certificate::OfPeer(*tls_);
  if (peer.ok()) who_ = security::ToString(peer->identity());
  return true;
}

void TimedStream::EndTls() {
  if (tls_ == nullptr) return;
  SSL_shutdown(tls_.get());  // as far as it goes without waiting
  ERR_clear_error();
}

bool TimedStream::is_readable() const {
  if (tls_ != nullptr && SSL_pending(tls_.get()) > 0) return true;
  return Await(POLLIN);
}

bool TimedStream::is_writable() const { return Await(POLLOUT); }

ssize_t TimedStream::read(char* to, size_t size) {
  if (left_ == 0) return -1;
  if (tls_ != nullptr) {
    const int got = Complete([&] {
      return SSL_read(tls_.get(), to,
                      static_cast<int>(std::min({size, left_, kMost})));
    });
    if (got > 0) left_ -= static_cast<size_t>(got);
    return got;
  }
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
  if (tls_ != nullptr) {
    return Complete([&] {
      return SSL_write(tls_.get(), from,
                       static_cast<int>(std::min(size, kMost)));
    });
  }
  for (;;) {
    const ssize_t sent = send(descriptor_, from, size, MSG_NOSIGNAL);
    if (sent >= 0) return sent;
    if (errno == EINTR) continue;
    if (errno != EAGAIN || !Await(POLLOUT)) return -1;
  }
}

void TimedStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = who_;
  port = 0;
}

void TimedStream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace kamino::web
