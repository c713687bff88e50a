// TLS 1.3 over a socket that does not block; docs/formats/link.md, "TLS".
//
// OpenSSL never touches the socket: what it reads and writes passes through
// here, so that many records leave, or come, by one system call. What is kept
// for a stream on which nothing is under way is what OpenSSL has of it.
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
#include "transport/link.h"
#include "transport/tcp/byte_sink.h"

namespace kamino::transport {

// What the streams of one transport share. Immutable.
class TlsSetup {
 public:
  // A sender takes new keys after so many bytes: AES-GCM is good for some
  // hundred GiB (RFC 8446, 5.5), and links stay for months.
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
  security::Certificates::Context to_connect_;
  security::Certificates::Context to_accept_;
  uint64_t bytes_of_key_ = kBytesOfKey;
};

// Not thread-safe. An error of any of its functions is for good.
class TlsStream final : public ByteSink {
 public:
  // The socket stays the caller's and outlives this.
  static absl::StatusOr<std::unique_ptr<TlsStream>> Make(
      std::shared_ptr<const TlsSetup> setup, bool connector, int socket);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Goes on as far as the socket lets it; true: it is done, and the peer has
  // the key of Peer. Then it reads and writes, before it does neither.
  // kUnauthenticated: one side does not believe the other.
  // kFailedPrecondition: the peer speaks no TLS that this side does.
  // kUnavailable: it is gone.
  absl::StatusOr<bool> Handshake();
  absl::StatusOr<security::Certificate> Peer() const;
  // Of the handshake's error: what a listener counts, and whether the
  // certificates have told of it in the log.
  LinkRefusal refusal() const { return refusal_; }
  bool told() const { return told_; }

  // The socket has something, or may have; `hung_up`: and nothing after that.
  void OnReadable(bool hung_up);
  // Some bytes, at most as many as `to` has; 0: none are there. kUnavailable:
  // the peer has ended the stream, or it was cut, as the text says. kDataLoss:
  // what came is not what the peer sent.
  absl::StatusOr<size_t> Receive(absl::Span<std::byte> to);

  absl::StatusOr<size_t> Write(const iovec* pieces, size_t count) override;
  // Sends what waits; false: the socket is full.
  absl::StatusOr<bool> Flush();
  // Bytes for the socket that it has not taken: some records at most.
  size_t waiting() const { return out_.size() - out_begin_; }
  // Of a record that has not come whole.
  size_t unfinished() const { return fed_; }

  // How often it has taken new keys to send.
  uint64_t keys_taken() const { return keys_taken_; }

  // Tells the peer that this is the end, if the socket has room for that.
  void SayEnd();

 private:
  struct Method;
  enum class Filled { kSome, kNothing, kEnd };

  TlsStream(std::shared_ptr<const TlsSetup> setup, int socket)
      : setup_(std::move(setup)), socket_(socket) {}

  // Takes what the socket has, if all that it had is used up.
  absl::StatusOr<Filled> Fill();
  void DropInput();
  void DropOutput();
  // How OpenSSL failed just now.
  absl::Status Failure();
  absl::Status AlertFailure(int alert);
  absl::Status RenewKey();
  absl::Status NotTls();

  const std::shared_ptr<const TlsSetup> setup_;
  const int socket_;
  SSL* ssl_ = nullptr;
  bool begun_ = false;    // something has come
  bool done_ = false;     // the handshake
  bool broken_ = false;   // nothing more is to be said
  bool readable_ = true;  // the socket may have something
  bool hung_up_ = false;
  LinkRefusal refusal_ = LinkRefusal::kOther;
  bool told_ = false;

  // What came and OpenSSL has not taken; null: nothing is.
  std::unique_ptr<std::byte[]> in_;
  size_t in_begin_ = 0;
  size_t in_end_ = 0;
  size_t fed_ = 0;  // that OpenSSL has taken since it last gave some

  std::string out_;
  size_t out_begin_ = 0;
  uint64_t sent_by_key_ = 0;  // bytes
  uint64_t keys_taken_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TLS_STREAM_H_
