#include "transport/tcp/tcp_link.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/socket/tls_signs.h"
#include "transport/tcp/frame.h"

namespace kamino::transport {
namespace {

// Initial buffer of a link, sufficient for small messages, as from many
// clients; and the free room that a read needs.
constexpr size_t kFirstBuffer = 1024;
constexpr size_t kFirstRead = 512;
// For other links. With less free room a read is not worth its system call.
constexpr size_t kLeastBuffer = size_t{256} << 10;
constexpr size_t kLeastRead = size_t{32} << 10;
// Such a buffer is freed when nothing has come for so long, a larger one when
// no large frame has: thousands of clients may each send a large message at
// some time.
constexpr absl::Duration kShrinkAfter = absl::Seconds(1);
// Bounds how long one link holds the thread.
constexpr int kReadsPerEvent = 16;

absl::Status SetOption(int socket, int level, int name, int value) {
  if (::setsockopt(socket, level, name, &value, sizeof(value)) == 0) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("setsockopt ", name));
}

// A peer that vanished without a word is noticed within `timeout`: by
// unacknowledged data if there is any, by keep-alives if there is none.
absl::Status ConfigureSocket(int socket, absl::Duration timeout) {
  const int seconds = static_cast<int>(absl::ToInt64Seconds(timeout));
  const int interval = std::max(1, seconds / 4);
  const int user_timeout = static_cast<int>(absl::ToInt64Milliseconds(timeout));
  const struct {
    int level, name, value;
  } settings[] = {
      {IPPROTO_TCP, TCP_NODELAY, 1},
      {IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout},
      {SOL_SOCKET, SO_KEEPALIVE, 1},
      {IPPROTO_TCP, TCP_KEEPIDLE, interval},
      {IPPROTO_TCP, TCP_KEEPINTVL, interval},
      {IPPROTO_TCP, TCP_KEEPCNT, 3},
  };
  for (const auto& setting : settings) {
    RETURN_IF_ERROR(
        SetOption(socket, setting.level, setting.name, setting.value));
  }
  return absl::OkStatus();
}

}  // namespace

TcpLink::TcpLink(std::shared_ptr<LinkContext> context, std::string peer,
                 std::shared_ptr<const TlsSetup> tls)
    : SocketLink(std::move(context), SocketKind::kTcp, kTcpCapabilities,
                 std::move(peer)),
      setup_(std::move(tls)) {}

// --- Before the link is open, when only the loop's thread is there.

bool TcpLink::Secure() {
  const absl::StatusOr<bool> done = Handshake();
  if (closing()) return false;
  if (!done.ok()) EndInsecurely(done.status());
  return done.value_or(false);
}

absl::StatusOr<bool> TcpLink::Handshake() {
  if (setup_ == nullptr) return true;
  absl::StatusOr<security::Certificate> shown = absl::UnknownError("");
  {
    absl::MutexLock lock(&mu_);
    if (tls_ == nullptr) {
      ASSIGN_OR_RETURN(tls_, TlsStream::Make(setup_, connector(), socket()));
    }
    tls_->OnReadable(false);
    ASSIGN_OR_RETURN(const bool done, tls_->Handshake());
    if (!done) return false;
    shown = tls_->Peer();
  }
  if (!shown.ok()) return shown.status();
  RETURN_IF_ERROR(KnowPeer(*shown));
  return true;
}

void TcpLink::EndInsecurely(const absl::Status& why) {
  LinkRefusal refusal = LinkRefusal::kOther;
  bool told = false;
  {
    absl::MutexLock lock(&mu_);
    if (tls_ != nullptr) {
      refusal = tls_->refusal();
      told = tls_->told();
    }
  }
  // Timeouts and an absent peer are not worth a report.
  if (connector() && !told && !absl::IsUnavailable(why)) {
    context().TellFailure(peer(), why);
  }
  if (!connector() && absl::IsPermissionDenied(why)) SayRefused();
  if (refusal == LinkRefusal::kPlaintext) {
    SayAlert(socket());
  } else {
    EndPolitely(socket());
  }
  if (refusal == LinkRefusal::kOther) return Fail(why);
  Fail(why, refusal, told);
}

absl::StatusOr<size_t> TcpLink::Receive(absl::Span<std::byte> to,
                                        UniqueFd* fd) {
  if (setup_ == nullptr) return SocketLink::Receive(to, fd);
  absl::MutexLock lock(&mu_);
  tls_->OnReadable(false);
  return tls_->Receive(to);
}

absl::Status TcpLink::SendAll(absl::Span<const std::byte> bytes, int fd) {
  if (setup_ == nullptr) return SocketLink::SendAll(bytes, fd);
  absl::MutexLock lock(&mu_);
  const iovec piece = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  ASSIGN_OR_RETURN(const size_t taken, tls_->Write(&piece, 1));
  if (taken == bytes.size()) return absl::OkStatus();
  return absl::UnavailableError("short write");
}

absl::StatusOr<size_t> TcpLink::OnPreface(const Preface& preface,
                                          absl::string_view, UniqueFd) {
  absl::Status set = ConfigureSocket(socket(), options().peer_timeout);
  if (!set.ok()) return absl::UnavailableError(set.message());
  return std::min<size_t>(preface.max_message, options().max_message);
}

void TcpLink::ReleaseDataLocked() {
  // No end is announced to a peer that should have received more.
  if (tls_ != nullptr && queue_.bytes() == 0) tls_->SayEnd();
  tls_ = nullptr;
  queue_.Clear();
  buffer_.reset();
  buffer_capacity_ = begin_ = end_ = 0;
}

absl::Status TcpLink::Send(absl::Span<const std::byte> header,
                           absl::Span<const std::byte> payload) {
  const size_t length = header.size() + payload.size();
  if (length > options().max_message) {
    return absl::InvalidArgumentError(absl::StrCat("message of ", length,
                                                   " bytes; this side sends ",
                                                   options().max_message));
  }
  // Outside the lock: it takes as long as the message is large.
  const FrameHead head = MakeFrameHead(header, payload);
  absl::MutexLock lock(&mu_);
  RETURN_IF_ERROR(CheckSendLocked(length));
  if (BacklogLocked() + kFrameHeadBytes + length > options().send_buffer) {
    blocked_ = true;
    return absl::ResourceExhaustedError("out of credits");
  }
  SocketSink clear(socket());
  ByteSink* sink = &clear;
  if (tls_ != nullptr) sink = tls_.get();
  absl::Status wrote = queue_.Write(
      sink, {absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&head),
                                 sizeof(head)),
             header, payload});
  if (!wrote.ok()) BeginCloseLocked(wrote);
  return wrote;
}

size_t TcpLink::BacklogLocked() const {
  return queue_.bytes() + (tls_ != nullptr ? tls_->waiting() : 0);
}

Link::Held TcpLink::held() const {
  absl::MutexLock lock(&mu_);
  Held held = {.unsent = BacklogLocked(), .unfinished = buffered()};
  if (tls_ != nullptr) held.unfinished += tls_->unfinished();
  // A full socket takes nothing before much of it is free: progress of the peer
  // shows there first.
  int in_socket = 0;
  if (held.unsent > 0 && ::ioctl(socket(), SIOCOUTQ, &in_socket) == 0) {
    held.unsent += static_cast<size_t>(in_socket);
  }
  return held;
}

void TcpLink::OnSocketEvents(uint32_t events) {
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hung_up_ = true;
  if (setup_ != nullptr) {
    absl::MutexLock lock(&mu_);
    if (tls_ != nullptr) tls_->OnReadable(hung_up_);
  }
  if ((events & EPOLLOUT) != 0) Flush();
  if (!closing()) Read();
}

void TcpLink::Flush() {
  bool writable = false;
  bool spare = false;
  {
    absl::MutexLock lock(&mu_);
    if (closing()) return;
    SocketSink clear(socket());
    ByteSink* sink = &clear;
    if (tls_ != nullptr) sink = tls_.get();
    absl::StatusOr<bool> settled =
        tls_ != nullptr ? tls_->Flush() : absl::StatusOr<bool>(true);
    // TLS's own buffer goes first, and the queue after it.
    if (settled.ok()) settled = *settled ? queue_.Flush(sink) : true;
    if (!settled.ok()) {
      BeginCloseLocked(settled.status());
      return;
    }
    // Edge-triggered: a socket that is not full announces nothing.
    if (!*settled) FlushLater();
    spare = queue_.has_spare();
    // Waits for half the credits: otherwise a blocked sender would wake for
    // each frame.
    if (blocked_ && BacklogLocked() <= options().send_buffer / 2) {
      blocked_ = false;
      writable = true;
    }
  }
  if (spare) ShrinkLater();
  if (writable) handler().OnWritable();
}

absl::StatusOr<size_t> TcpLink::ReadSome(bool* full) {
  std::byte* const to = buffer_.get() + end_;
  const size_t room = buffer_capacity_ - end_;
  if (setup_ != nullptr) {
    absl::MutexLock lock(&mu_);
    *full = true;
    if (tls_ == nullptr) return absl::UnavailableError("closed");
    return tls_->Receive({to, room});
  }
  ssize_t count;
  do {
    count = ::recv(socket(), to, room, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return size_t{0};
  if (count < 0) {
    return absl::UnavailableError(
        absl::StrCat("lost the peer: ", ::strerror(errno)));
  }
  if (count == 0) return absl::UnavailableError("closed by the peer");
  // The kernel had no more. Later data has its own edge, except the stream's
  // end if its edge came with these bytes.
  *full = static_cast<size_t>(count) == room || hung_up_;
  return static_cast<size_t>(count);
}

void TcpLink::Read() {
  for (int i = 0; i < kReadsPerEvent; ++i) {
    MakeRoom();
    bool full = false;
    const absl::StatusOr<size_t> count = ReadSome(&full);
    if (!count.ok()) {
      LOG_IF(ERROR, absl::IsDataLoss(count.status()))
          << "closing the link to " << peer() << ": "
          << count.status().message();
      Fail(count.status());
      return;
    }
    if (*count == 0) return;
    read_ = true;
    much_ |= *count == buffer_capacity_ - end_;
    end_ += *count;
    if (!DeliverFrames()) return;
    if (!full) return;
  }
  ReadLater();
}

void TcpLink::FlushLater() {
  if (std::exchange(flush_posted_, true)) return;
  loop().Post([this, keep = shared_from_this()] {
    flush_posted_ = false;
    if (!closing()) Flush();
  });
}

void TcpLink::ReadLater() {
  if (std::exchange(read_posted_, true)) return;
  loop().Post([this, keep = shared_from_this()] {
    read_posted_ = false;
    if (!closing()) Read();
  });
}

void TcpLink::MakeRoom() {
  size_t frame = kFrameHeadBytes;
  if (buffered() >= kFrameHeadBytes) {
    FrameHead head;
    std::memcpy(&head, buffer_.get() + begin_, sizeof(head));
    frame += head.length;  // checked by DeliverFrames
  }
  const size_t room = buffer_capacity_ - end_;
  const size_t least_read = much_ ? kLeastRead : kFirstRead;
  if (begin_ + frame <= buffer_capacity_ && room >= least_read) return;
  const size_t needed =
      std::max(much_ ? kLeastBuffer : kFirstBuffer, frame + least_read);
  std::unique_ptr<std::byte[]> larger;
  if (needed > buffer_capacity_) larger.reset(new std::byte[needed]);
  std::byte* to = larger != nullptr ? larger.get() : buffer_.get();
  if (buffered() != 0) std::memmove(to, buffer_.get() + begin_, buffered());
  end_ = buffered();
  begin_ = 0;
  if (larger != nullptr) {
    buffer_ = std::move(larger);
    buffer_capacity_ = needed;
    if (needed > kFirstBuffer) ShrinkLater();
  }
}

void TcpLink::ShrinkLater() {
  if (shrink_ != 0) return;
  large_ = read_ = false;
  shrink_ = loop().StartTimer(kShrinkAfter, [this] {
    shrink_ = 0;
    Shrink();
  });
}

void TcpLink::Shrink() {
  {
    absl::MutexLock lock(&mu_);
    queue_.DropSpare();
  }
  if (buffer_capacity_ <= kFirstBuffer) return;
  const bool used = buffer_capacity_ > kLeastBuffer ? large_ : read_;
  if (used || buffered() != 0) return ShrinkLater();
  buffer_.reset();
  buffer_capacity_ = begin_ = end_ = 0;
  much_ = false;
}

void TcpLink::OnStopping() {
  if (shrink_ != 0) loop().CancelTimer(std::exchange(shrink_, 0));
}

bool TcpLink::DeliverFrames() {
  while (buffered() >= kFrameHeadBytes) {
    FrameHead head;
    std::memcpy(&head, buffer_.get() + begin_, sizeof(head));
    absl::Status sound = CheckFrameHead(head, options().max_message);
    if (sound.ok()) {
      large_ |= head.length > kLeastBuffer;
      if (buffered() < kFrameHeadBytes + head.length) break;
      const auto message = absl::MakeConstSpan(
          buffer_.get() + begin_ + kFrameHeadBytes, head.length);
      sound = CheckFrame(head, message);
      if (sound.ok()) {
        begin_ += kFrameHeadBytes + head.length;
        handler().OnMessage(message);
        if (closing()) return false;
        continue;
      }
    }
    LOG(ERROR) << "closing the link to " << peer() << ": " << sound.message();
    Fail(sound);
    return false;
  }
  if (buffered() == 0) begin_ = end_ = 0;
  return true;
}

}  // namespace kamino::transport
