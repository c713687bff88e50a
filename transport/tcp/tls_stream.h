// TLS 1.3 over a socket that does not block; docs/formats/link.md, "TLS".
//
// OpenSSL never touches the socket: its input and output pass through here, so
// that one system call carries many records. An idle stream keeps only
// OpenSSL's own state.
#ifndef KAMINO_TRANSPORT_TCP_TLS_STREAM_H_
#define KAMINO_TRANSPORT_TCP_TLS_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "openssl/types.h"
#include "security/certificate.h"
#include "security/certificates.h"
#include "security/tls_context.h"
#include "transport/link.h"
#include "transport/tcp/byte_sink.h"
#include "transport/tcp/tls_buffers.h"

namespace kamino::transport {

// State that the streams of one transport share. Immutable.
class TlsSetup {
 public:
  // A sender changes keys after so many bytes: AES-GCM is good for some hundred
  // GiB (RFC 8446, 5.5), and links stay for months.
  static constexpr uint64_t kBytesOfKey = uint64_t{32} << 30;

  // kResourceExhausted, kInternal: OpenSSL cannot.
  static absl::StatusOr<std::shared_ptr<const TlsSetup>> Make(
      std::shared_ptr<security::Certificates> certificates,
      uint64_t bytes_of_key = kBytesOfKey);

  uint64_t bytes_of_key() const { return bytes_of_key_; }

  SSL_CTX* context(bool connector) const {
    return connector ? to_connect_.get() : to_accept_.get();
  }

 private:
  TlsSetup() = default;
  std::shared_ptr<security::Certificates> certificates_;  // outlive the others
  security::TlsContext to_connect_;
  security::TlsContext to_accept_;
  uint64_t bytes_of_key_ = kBytesOfKey;
};

// Not thread-safe. An error from any function is permanent.
class TlsStream final : public ByteSink {
 public:
  // The socket stays the caller's and outlives this.
  static absl::StatusOr<std::unique_ptr<TlsStream>> Make(
      std::shared_ptr<const TlsSetup> setup, bool connector, int socket);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Continues as far as the socket allows; true: it is done, and the peer has
  // the key of Peer. Must be done before reading and writing. kUnauthenticated:
  // one side does not accept the other's certificate. kFailedPrecondition: the
  // two share no TLS version or parameters. kUnavailable: the peer is gone.
  absl::StatusOr<bool> Handshake();
  absl::StatusOr<security::Certificate> Peer() const;
  // After an error of Handshake: what a listener counts, and whether the
  // certificates have logged it.
  LinkRefusal refusal() const { return refusal_; }
  bool told() const { return told_; }

  // The socket may be readable; `hung_up`: and the peer sends nothing after
  // that.
  void OnReadable(bool hung_up) { input_.OnReadable(hung_up); }
  // Receives at most as many bytes as `to` has room for; 0: none are there.
  // kUnavailable: the peer has ended the stream, or it was cut, as the text
  // says. kDataLoss: the bytes are not those that the peer sent.
  absl::StatusOr<size_t> Receive(absl::Span<std::byte> to);

  absl::StatusOr<size_t> Write(const iovec* pieces, size_t count) override;
  // Sends waiting bytes; false: the socket is full.
  absl::StatusOr<bool> Flush() { return output_.Flush(); }
  // Bytes that the socket has not taken: some records at most.
  size_t waiting() const { return output_.waiting(); }
  // Bytes of an incomplete record.
  size_t unfinished() const { return fed_; }

  // How often it has changed its sending key.
  uint64_t keys_taken() const { return keys_taken_; }

  // Tells the peer that the stream ends, if the socket has room for that.
  void SayEnd();

 private:
  struct Method;

  TlsStream(std::shared_ptr<const TlsSetup> setup, int socket)
      : setup_(std::move(setup)),
        socket_(socket),
        input_(socket),
        output_(socket) {}

  // Reads from the socket.
  absl::StatusOr<TlsInput::Filled> Fill();
  // OpenSSL's last error.
  absl::Status Failure();
  absl::Status AlertFailure(int alert);
  absl::Status RenewKey();

  const std::shared_ptr<const TlsSetup> setup_;
  const int socket_;
  SSL* ssl_ = nullptr;
  bool done_ = false;    // the handshake
  bool broken_ = false;  // nothing more can be sent
  LinkRefusal refusal_ = LinkRefusal::kOther;
  bool told_ = false;

  TlsInput input_;
  size_t fed_ = 0;  // bytes that OpenSSL has taken since it last returned some
  TlsOutput output_;
  uint64_t sent_by_key_ = 0;  // bytes
  uint64_t keys_taken_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TLS_STREAM_H_
