// A connection as httplib reads and writes it, within a time and a size; by TLS
// if need be.
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

// Not thread-safe. `descriptor` does not block, and outlives this.
class TimedStream final : public httplib::Stream {
 public:
  // Until `deadline`, of MonotonicNow; no more than `max_read` bytes are read.
  TimedStream(int descriptor, absl::Time deadline, size_t max_read)
      : descriptor_(descriptor), deadline_(deadline), left_(max_read) {}

  // Before anything else: goes on by TLS, as `context` says. False: it does not
  // come about.
  bool BeginTls(SSL_CTX* context);
  // Tells the peer that no more comes. Nothing happens without TLS.
  void EndTls();

  bool is_readable() const override;
  bool is_writable() const override;
  // -1: the time is over, or the size.
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  // In the place of an address, which nobody asks for: the URI of the identity
  // that the peer has proved to be; "": it shows no certificate.
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return descriptor_; }

 private:
  // False: the time is over.
  bool Await(short events) const;
  // What `call` of OpenSSL's returns once it need not wait; not above 0: it has
  // failed, or the time is over.
  int Complete(absl::FunctionRef<int()> call);

  const int descriptor_;
  const absl::Time deadline_;
  size_t left_;
  struct TlsDeleter {
    void operator()(SSL* connection) const;
  };
  std::unique_ptr<SSL, TlsDeleter> tls_;  // null: in the clear
  std::string who_;
};

}  // namespace kamino::web

#endif  // KAMINO_WEB_TIMED_STREAM_H_
