// A connection for httplib with limits on time and size, optionally over TLS.
#ifndef KAMINO_WEB_TIMED_STREAM_H_
#define KAMINO_WEB_TIMED_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "httplib.h"
#include "openssl/types.h"

namespace kamino::web {

// Not thread-safe. `descriptor` must be non-blocking and outlive this.
class TimedStream final : public httplib::Stream {
 public:
  // Valid until `deadline`, of MonotonicNow; reads at most `max_read` bytes.
  TimedStream(int descriptor, absl::Time deadline, size_t max_read)
      : descriptor_(descriptor), deadline_(deadline), left_(max_read) {}

  // Call first: starts TLS with `context`. False: the handshake failed.
  bool BeginTls(SSL_CTX* context);
  // Sends the end of the TLS stream. A no-op without TLS.
  void EndTls();

  bool is_readable() const override;
  bool is_writable() const override;
  // -1: the time or the size is exceeded.
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  // Returns the URI of the peer's identity instead of an address, which is not
  // used here; "": no certificate.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

 private:
  // False: the time has passed.
  bool Await(short events) const;
  // Repeats `call` of OpenSSL until it need not wait, and returns its result;
  // not above 0: it failed, or the time has passed.
  int Complete(absl::FunctionRef<int()> call);

  const int descriptor_;
  const absl::Time deadline_;
  size_t left_;
  struct TlsDeleter {
    void operator()(SSL* connection) const;
  };
  std::unique_ptr<SSL, TlsDeleter> tls_;  // null: no TLS
  std::string who_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_TIMED_STREAM_H_
