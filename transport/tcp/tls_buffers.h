// The bytes between a socket and OpenSSL, in both directions. Buffers that no
// stream needs are kept for each thread, so an idle stream has none.
//
// Not thread-safe: as TlsStream, which owns them.
#ifndef KAMINO_TRANSPORT_TCP_TLS_BUFFERS_H_
#define KAMINO_TRANSPORT_TCP_TLS_BUFFERS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace kamino::transport {

// Received bytes that OpenSSL has not taken.
class TlsInput {
 public:
  // The socket outlives this.
  explicit TlsInput(int socket) : socket_(socket) {}
  ~TlsInput() { Drop(); }
  TlsInput(const TlsInput&) = delete;
  TlsInput& operator=(const TlsInput&) = delete;

  // The socket may be readable; `hung_up`: and the peer sends nothing after
  // that.
  void OnReadable(bool hung_up);

  enum class Filled {
    kSome,
    kNothing,  // none are there now
    kEnd,      // of the stream
    kNotTls,   // the stream does not begin like TLS
  };
  // Reads from the socket; OpenSSL has taken all earlier bytes. kUnavailable:
  // the socket is broken.
  absl::StatusOr<Filled> Fill();

  // Moves at most `size` bytes to `to` and returns how many.
  size_t Take(char* to, size_t size);

 private:
  void Drop();

  const int socket_;
  bool begun_ = false;    // something has arrived
  bool readable_ = true;  // the socket may have something
  bool hung_up_ = false;
  std::unique_ptr<std::byte[]> bytes_;  // null: none
  size_t begin_ = 0;
  size_t end_ = 0;
};

// Records that the socket has not taken.
class TlsOutput {
 public:
  // The socket outlives this.
  explicit TlsOutput(int socket) : socket_(socket) {}

  size_t waiting() const { return bytes_.size() - begin_; }
  // False: too many bytes wait.
  bool Add(const char* from, size_t size);
  // Sends waiting bytes; false: the socket is full. kUnavailable: it is broken.
  absl::StatusOr<bool> Flush();

 private:
  void Drop();

  const int socket_;
  std::string bytes_;
  size_t begin_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TLS_BUFFERS_H_
