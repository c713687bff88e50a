// A link over one TCP connection, with TLS if there are certificates: frames go
// out through a bounded queue and come in through one contiguous buffer.
#ifndef KAMINO_TRANSPORT_TCP_TCP_LINK_H_
#define KAMINO_TRANSPORT_TCP_TCP_LINK_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/socket/socket_link.h"
#include "transport/tcp/send_queue.h"
#include "transport/tcp/tls_stream.h"

namespace kamino::transport {

inline constexpr Capabilities kTcpCapabilities = {.name = "tcp"};

class TcpLink final : public SocketLink {
 public:
  // `tls`: null in the clear.
  TcpLink(std::shared_ptr<LinkContext> context, std::string peer,
          std::shared_ptr<const TlsSetup> tls);

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override;
  Held held() const override;

 private:
  bool Secure() override;
  absl::StatusOr<bool> Handshake();
  void EndInsecurely(const absl::Status& why);
  absl::StatusOr<size_t> Receive(absl::Span<std::byte> to,
                                 UniqueFd* fd) override;
  absl::Status SendAll(absl::Span<const std::byte> bytes, int fd) override;
  absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                   absl::string_view extra,
                                   UniqueFd fd) override;
  void OnSocketEvents(uint32_t events) override;
  void OnStopping() override;
  void ReleaseDataLocked() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Bytes of all frames that the kernel has not taken.
  size_t BacklogLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Flush();
  void Read();
  // As Receive, for an open link with or without TLS. `full`: there may be
  // more.
  absl::StatusOr<size_t> ReadSome(bool* full);
  // Continues after the thread's other work; one of each at a time.
  void FlushLater();
  void ReadLater();
  // Room for at least one more byte, and for the frame that has begun.
  void MakeRoom();
  // Hands out the complete frames; false when the link is closed or closing.
  bool DeliverFrames();
  size_t buffered() const { return end_ - begin_; }
  // Frees memory that large messages needed, after a while without large ones.
  void ShrinkLater();
  void Shrink();

  const std::shared_ptr<const TlsSetup> setup_;

  // OpenSSL reads and writes under one lock. Null without TLS.
  std::unique_ptr<TlsStream> tls_ ABSL_GUARDED_BY(mu_);
  SendQueue queue_ ABSL_GUARDED_BY(mu_);
  bool blocked_ ABSL_GUARDED_BY(mu_) = false;  // Send was refused since

  // The loop's thread only.
  bool hung_up_ = false;  // the peer sends nothing after what the kernel has
  bool flush_posted_ = false;
  bool read_posted_ = false;
  bool much_ = false;  // a read has filled the buffer
  // Since ShrinkLater:
  bool large_ = false;  // a large frame has come
  bool read_ = false;   // something was read
  EventLoop::Id shrink_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  size_t buffer_capacity_ = 0;
  size_t begin_ = 0;  // buffer_[begin_, end_) is received and not handed out
  size_t end_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_LINK_H_
