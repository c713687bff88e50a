#include "transport/socket/socket_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "transport/socket/tls_signs.h"

namespace kamino::transport {

SocketLink::SocketLink(std::shared_ptr<LinkContext> context, SocketKind kind,
                       const Capabilities& capabilities, std::string peer)
    : LoopLink(std::move(context), capabilities, std::move(peer)),
      kind_(kind) {}

void SocketLink::Detach() {
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
  if (dialer_.has_value()) dialer_->Stop();
}

void SocketLink::ReleaseLocked() {
  ReleaseDataLocked();
  socket_.Reset();
}

void SocketLink::StartConnecting(SocketTarget target,
                                 std::shared_ptr<LinkHandler> handler) {
  dialer_.emplace(&context(), peer(), std::move(target));
  if (!BeginConnecting(std::move(handler))) return;
  std::weak_ptr<LoopLink> weak = weak_from_this();
  dialer_->Find(
      [weak = std::move(weak)]() -> std::shared_ptr<void> {
        const std::shared_ptr<LoopLink> link = weak.lock();
        if (link == nullptr) return nullptr;
        return static_cast<SocketLink*>(link.get())->closing() ? nullptr : link;
      },
      [this](const absl::Status& found) {
        if (found.ok()) return Prepare();
        context().TellFailure(peer(), found);
        Fail(found);
      });
}

void SocketLink::ReadyToConnect(const absl::Status& status) {
  if (closing()) return;
  if (status.ok()) return TryNextCandidate();
  Fail(status);
}

void SocketLink::TryNextCandidate() {
  while (true) {
    absl::StatusOr<UniqueFd> socket = dialer_->Next();
    if (!socket.ok()) return Fail(socket.status());
    phase_ = Phase::kConnecting;
    const absl::Status used = UseSocket(*std::move(socket));
    if (used.ok()) return;
    dialer_->OnFailed(used.message());
    DropSocket();
  }
}

void SocketLink::StartAccepting(UniqueFd socket,
                                std::shared_ptr<AcceptGate> gate,
                                const std::string& host) {
  if (!BeginAccepting(std::move(gate), host)) return;
  phase_ = Phase::kSecuring;
  if (absl::Status used = UseSocket(std::move(socket)); !used.ok()) Fail(used);
}

absl::Status SocketLink::UseSocket(UniqueFd socket) {
  {
    absl::MutexLock lock(&mu_);
    socket_ = std::move(socket);
  }
  ASSIGN_OR_RETURN(watch_,
                   loop().Watch(socket_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                                [this](uint32_t events) { OnEvents(events); }));
  return absl::OkStatus();
}

void SocketLink::DropSocket() {
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
  absl::MutexLock lock(&mu_);
  socket_.Reset();
}

void SocketLink::OnEvents(uint32_t events) {
  // Some path below may drop the last reference.
  const std::shared_ptr<LoopLink> keep = shared_from_this();
  if (closing()) return;
  hung_up_ |= events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if (phase_ == Phase::kConnecting) {
    OnConnectDone();
  } else if (phase_ == Phase::kSecuring) {
    ContinueSecuring();
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
    dialer_->OnFailed(::strerror(error));
    DropSocket();
    TryNextCandidate();
    return;
  }
  phase_ = Phase::kSecuring;
  ContinueSecuring();
}

void SocketLink::ContinueSecuring() {
  if (!Secure() || closing()) return;
  phase_ = Phase::kPreface;
  incoming_.emplace(
      kind_, connector() ? SocketSide::kAcceptor : SocketSide::kConnector);
  if (!connector() || SendPreface(MakeOffer())) ReadPreface();
}

absl::Status SocketLink::SendAll(absl::Span<const std::byte> bytes, int fd) {
  iovec piece = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* passed = CMSG_FIRSTHDR(&message);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(passed), &fd, sizeof(int));
  }
  const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return absl::OkStatus();
  return absl::UnavailableError(sent < 0 ? ::strerror(errno) : "short write");
}

void SocketLink::SayRefused() {
  const Preface preface = MakePreface(
      SocketKind::kRefused, SocketSide::kAcceptor,
      static_cast<uint32_t>(options().max_message), 0, context().era());
  (void)SendAll(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&preface),
                          sizeof(preface)),
      /*fd=*/-1);
}

bool SocketLink::SendPreface(const Offer& offer) {
  const Preface preface = MakePreface(
      kind_, connector() ? SocketSide::kConnector : SocketSide::kAcceptor,
      static_cast<uint32_t>(options().max_message), offer.ring_bytes,
      context().era());
  std::string bytes(reinterpret_cast<const char*>(&preface), sizeof(preface));
  bytes += offer.extra;
  // A fresh socket's buffer takes a whole preface, or something is wrong.
  const absl::Status sent = SendAll(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(bytes.data()),
                          bytes.size()),
      offer.fd);
  if (sent.ok()) return true;
  Fail(absl::UnavailableError(
      absl::StrCat("cannot send the preface: ", sent.message())));
  return false;
}

absl::StatusOr<size_t> SocketLink::Receive(absl::Span<std::byte> to,
                                           UniqueFd* fd) {
  iovec piece = {to.data(), to.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t count;
  do {
    count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count < 0) return absl::UnavailableError(::strerror(errno));
  for (cmsghdr* passed = CMSG_FIRSTHDR(&message); passed != nullptr;
       passed = CMSG_NXTHDR(&message, passed)) {
    if (passed->cmsg_level != SOL_SOCKET || passed->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    // Padding leaves room for a second descriptor; extra ones are closed.
    const size_t bytes = passed->cmsg_len - CMSG_LEN(0);
    for (size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
      int one;
      std::memcpy(&one, CMSG_DATA(passed) + at, sizeof(one));
      UniqueFd came(one);
      if (!fd->valid()) *fd = std::move(came);
    }
  }
  if (count == 0) return absl::UnavailableError("the peer closed");
  return static_cast<size_t>(count);
}

void SocketLink::ReadPreface() {
  const absl::StatusOr<bool> complete =
      incoming_->Read([this](absl::Span<std::byte> to, UniqueFd* fd) {
        return Receive(to, fd);
      });
  if (!complete.ok()) return OnNoPreface(complete.status());
  if (*complete) OnPrefaceComplete();
}

void SocketLink::OnNoPreface(const absl::Status& why) {
  if (!incoming_->unsound()) {
    if (connector() && !absl::IsUnavailable(why)) {
      context().TellFailure(peer(), why);
    }
    Fail(absl::Status(
        why.code(),
        absl::StrCat("before its preface was complete: ", why.message())));
    return;
  }
  const bool tls = incoming_->wants_tls();
  if (connector() && (tls || absl::IsPermissionDenied(why))) {
    context().TellFailure(peer(), why);
  }
  // Answers a peer that wants TLS in TLS.
  if (tls && !connector()) {
    const absl::Status clear = absl::FailedPreconditionError(
        "it speaks TLS, and this side has no certificates: see --tls_cert");
    SayAlert(socket_.get());
    return Fail(clear, LinkRefusal::kHandshake);
  }
  Fail(why);
}

void SocketLink::OnPrefaceComplete() {
  if (!connector()) {
    if (absl::Status now = context().CheckEra(incoming_->preface().era);
        !now.ok()) {
      Fail(now);
      return;
    }
  }
  absl::StatusOr<size_t> max_message =
      OnPreface(incoming_->preface(), incoming_->extra(), incoming_->TakeFd());
  if (closing()) return;
  if (!max_message.ok()) {
    if (absl::IsUnauthenticated(max_message.status()) && connector()) {
      context().TellFailure(peer(), max_message.status());
    }
    if (!connector() && (absl::IsUnauthenticated(max_message.status()) ||
                         absl::IsPermissionDenied(max_message.status()))) {
      SayRefused();
    }
    Fail(max_message.status());
    return;
  }
  if (!connector() && !SendPreface(MakeOffer())) return;
  phase_ = Phase::kOpen;
  // Bytes behind the preface have had their edge already.
  if (Open(*max_message)) OnSocketEvents(EPOLLIN | EPOLLOUT | hung_up_);
}

}  // namespace kamino::transport
