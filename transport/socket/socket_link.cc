#include "transport/socket/socket_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::transport {

SocketLink::SocketLink(std::shared_ptr<LinkContext> context, SocketKind kind,
                       const Capabilities& capabilities, std::string peer)
    : LoopLink(std::move(context), capabilities, std::move(peer)),
      kind_(kind) {}

void SocketLink::Detach() {
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
}

void SocketLink::ReleaseLocked() {
  ReleaseDataLocked();
  socket_.Reset();
}

void SocketLink::StartConnecting(std::vector<SocketAddress> candidates,
                                 std::shared_ptr<LinkHandler> handler) {
  candidates_ = std::move(candidates);
  if (BeginConnecting(std::move(handler))) TryNextCandidate();
}

void SocketLink::TryNextCandidate() {
  while (next_candidate_ < candidates_.size()) {
    if (TryCandidate(candidates_[next_candidate_++])) return;
  }
  Fail(absl::UnavailableError(
      absl::StrCat("connect to ", peer(), ": ", connect_error_)));
}

bool SocketLink::TryCandidate(const SocketAddress& address) {
  UniqueFd socket(::socket(address.storage.ss_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid() ||
      (::connect(socket.get(),
                 reinterpret_cast<const sockaddr*>(&address.storage),
                 address.length) != 0 &&
       errno != EINPROGRESS)) {
    connect_error_ = ::strerror(errno);
    return false;
  }
  SetSocket(std::move(socket));
  phase_ = Phase::kConnecting;
  if (absl::Status watched = WatchSocket(); !watched.ok()) {
    connect_error_ = std::string(watched.message());
    DropSocket();
    return false;
  }
  return true;
}

void SocketLink::StartAccepting(UniqueFd socket,
                                std::shared_ptr<AcceptGate> gate) {
  SetSocket(std::move(socket));
  if (!BeginAccepting(std::move(gate))) return;
  phase_ = Phase::kPreface;
  if (absl::Status watched = WatchSocket(); !watched.ok()) Fail(watched);
}

void SocketLink::SetSocket(UniqueFd socket) {
  absl::MutexLock lock(&mu_);
  socket_ = std::move(socket);
}

absl::Status SocketLink::WatchSocket() {
  ASSIGN_OR_RETURN(EventLoop::Id id,
                   loop().Watch(socket_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                                [this](uint32_t events) { OnEvents(events); }));
  watch_ = id;
  return absl::OkStatus();
}

void SocketLink::DropSocket() {
  Detach();
  absl::MutexLock lock(&mu_);
  socket_.Reset();
}

void SocketLink::OnEvents(uint32_t events) {
  // Some path below may drop the last reference.
  const std::shared_ptr<LoopLink> keep = shared_from_this();
  if (closing()) return;
  if (phase_ == Phase::kConnecting) {
    OnConnectDone();
  } else if (phase_ == Phase::kPreface) {
    ReadPreface();
  } else {
    OnSocketEvents(events);
  }
}

void SocketLink::OnConnectDone() {
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) {
    connect_error_ = ::strerror(error);
    DropSocket();
    TryNextCandidate();
    return;
  }
  phase_ = Phase::kPreface;
  if (SendPreface(MakeOffer())) ReadPreface();
}

bool SocketLink::SendPreface(const Offer& offer) {
  Preface preface = MakePreface(
      kind_, connector() ? SocketSide::kConnector : SocketSide::kAcceptor,
      static_cast<uint32_t>(options().max_message), offer.ring_bytes, era());
  iovec piece = {&preface, sizeof(preface)};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (offer.fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* passed = CMSG_FIRSTHDR(&message);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(passed), &offer.fd, sizeof(int));
  }
  // A fresh socket's buffer takes a whole preface or something is wrong.
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(sizeof(preface))) return true;
  Fail(absl::UnavailableError(
      absl::StrCat("cannot send the preface: ",
                   sent < 0 ? ::strerror(errno) : "short write")));
  return false;
}

ssize_t SocketLink::ReceivePrefaceBytes() {
  iovec piece = {reinterpret_cast<char*>(&received_) + received_bytes_,
                 kPrefaceBytes - received_bytes_};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* passed = CMSG_FIRSTHDR(&message); passed != nullptr;
       passed = CMSG_NXTHDR(&message, passed)) {
    if (passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    // Padding leaves room for a second descriptor; what is not kept is closed.
    const size_t bytes = passed->cmsg_len - CMSG_LEN(0);
    for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(passed) + at, sizeof(fd));
      UniqueFd came(fd);
      if (!received_fd_.valid()) received_fd_ = std::move(came);
    }
  }
  return count;
}

void SocketLink::ReadPreface() {
  while (received_bytes_ < kPrefaceBytes) {
    const ssize_t count = ReceivePrefaceBytes();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      Fail(absl::UnavailableError(
          count == 0 ? "the peer closed before its preface was complete"
                     : absl::StrCat("preface: ", ::strerror(errno))));
      return;
    }
    received_bytes_ += static_cast<size_t>(count);
    const absl::Status sound = CheckPreface(
        received_, received_bytes_, kind_,
        connector() ? SocketSide::kAcceptor : SocketSide::kConnector);
    if (!sound.ok()) {
      Fail(sound);
      return;
    }
  }
  OnPrefaceComplete();
}

void SocketLink::OnPrefaceComplete() {
  if (!connector()) {
    if (absl::Status now = CheckEra(received_.era); !now.ok()) {
      Fail(now);
      return;
    }
  }
  absl::StatusOr<size_t> max_message =
      OnPreface(received_, std::move(received_fd_));
  if (!max_message.ok()) {
    Fail(max_message.status());
    return;
  }
  if (!connector() && !SendPreface(Offer{})) return;
  phase_ = Phase::kOpen;
  // Bytes behind the preface have had their edge already.
  if (Open(*max_message)) OnSocketEvents(EPOLLIN | EPOLLOUT);
}

}  // namespace kamino::transport
