// A link over one TCP connection: frames out through a bounded queue, frames in
// through one contiguous buffer.
#ifndef KAMINO_TRANSPORT_TCP_TCP_LINK_H_
#define KAMINO_TRANSPORT_TCP_TCP_LINK_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "transport/socket/socket_link.h"
#include "transport/tcp/send_queue.h"

namespace kamino::transport {

inline constexpr Capabilities kTcpCapabilities = {.name = "tcp"};

class TcpLink final : public SocketLink {
 public:
  TcpLink(std::shared_ptr<LinkContext> context, std::string peer);

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override;
  Held held() const override;

 private:
  absl::StatusOr<size_t> OnPreface(const Preface& preface,
                                   UniqueFd fd) override;
  void OnSocketEvents(uint32_t events) override;
  void OnStopping() override;
  void ReleaseDataLocked() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Flush();
  void Read();
  // Goes on behind what else the thread has to do; one at a time of each.
  void FlushLater();
  void ReadLater();
  // Room for at least one more byte, and for the frame that has begun.
  void MakeRoom();
  // Hands out the complete frames; false when the link is closed or closing.
  bool DeliverFrames();
  size_t buffered() const { return end_ - begin_; }
  // Gives back what much that came or went has left, once there was no more of
  // that for a while.
  void ShrinkLater();
  void Shrink();

  SendQueue queue_ ABSL_GUARDED_BY(mu_);
  bool blocked_ ABSL_GUARDED_BY(mu_) = false;  // Send has refused since

  // The loop's thread only.
  bool hung_up_ = false;  // the peer sends nothing after what the kernel has
  bool flush_posted_ = false;
  bool read_posted_ = false;
  bool much_ = false;  // some read has filled the buffer
  // Since ShrinkLater:
  bool large_ = false;  // a large frame has come
  bool read_ = false;   // something has
  EventLoop::Id shrink_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  size_t buffer_capacity_ = 0;
  size_t begin_ = 0;  // buffer_[begin_, end_) is received and not handed out
  size_t end_ = 0;
};

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_TCP_TCP_LINK_H_
