#include "transport/socket/socket_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "transport/socket/tls_signs.h"

namespace kamino::transport {

SocketLink::SocketLink(std::shared_ptr<LinkContext> context, SocketKind kind,
                       const Capabilities& capabilities, std::string peer)
    : LoopLink(std::move(context), capabilities, std::move(peer)),
      kind_(kind) {}

void SocketLink::Detach() {
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
  if (late_ != 0) loop().CancelTimer(late_);
  late_ = 0;
}

void SocketLink::ReleaseLocked() {
  ReleaseDataLocked();
  socket_.Reset();
}

void SocketLink::StartConnecting(SocketTarget target,
                                 std::shared_ptr<LinkHandler> handler) {
  target_ = std::move(target);
  candidates_ = target_.addresses;
  if (!BeginConnecting(std::move(handler))) return;
  if (target_.host.empty()) return Prepare();
  LookUp();
}

void SocketLink::LookUp() {
  finding_ = true;
  late_ = loop().StartTimer(Resolver::kLate, [this] {
    late_ = 0;
    OnLate();
  });
  // The answer may come when the link, or the loop, has ended.
  std::weak_ptr<LoopLink> weak = weak_from_this();
  target_.resolver->LookUp(
      target_.host, MonotonicNow() + options().connect_timeout,
      [weak = std::move(weak), loop = context().loop](
          const absl::StatusOr<Resolver::Addresses>& found) {
        loop->Post([weak, found] {
          const std::shared_ptr<LoopLink> link = weak.lock();
          if (link == nullptr) return;
          static_cast<SocketLink*>(link.get())->OnFound(found);
        });
      });
}

void SocketLink::OnFound(const absl::StatusOr<Resolver::Addresses>& found) {
  if (closing()) return;
  if (found.ok()) {
    AddCandidates(*found);
    if (finding_) FoundSome();
    return;
  }
  if (!finding_ || GoToLastGood(found.status().message())) return;
  TellFailure(found.status());
  Fail(found.status());
}

void SocketLink::OnLate() {
  const std::string why =
      absl::StrCat("the name server has not answered for \"", target_.host,
                   "\" within ", absl::FormatDuration(Resolver::kLate));
  if (GoToLastGood(why)) return;
  TellFailure(absl::UnavailableError(absl::StrCat(why, " yet")));
}

bool SocketLink::GoToLastGood(absl::string_view why) {
  if (!target_.last_good) return false;
  const Resolver::Addresses known = target_.resolver->LastGood(target_.host);
  if (known.empty()) return false;
  AddCandidates(known);
  const auto end = context().failures.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "a link to " << peer() << " goes to " << TextOf(candidates_.front())
      << ", the result of an earlier lookup: " << why << *end;
  FoundSome();
  return true;
}

void SocketLink::AddCandidates(const Resolver::Addresses& addresses) {
  for (const SocketAddress& each : addresses) {
    const SocketAddress candidate = WithPort(each, target_.port);
    const bool known = std::any_of(
        candidates_.begin(), candidates_.end(),
        [&](const SocketAddress& one) { return AreSame(one, candidate); });
    if (!known) candidates_.push_back(candidate);
  }
}

void SocketLink::FoundSome() {
  finding_ = false;
  if (late_ != 0) loop().CancelTimer(late_);
  late_ = 0;
  Prepare();
}

void SocketLink::ReadyToConnect(const absl::Status& status) {
  if (closing()) return;
  if (status.ok()) return TryNextCandidate();
  Fail(status);
}

void SocketLink::TellFailure(const absl::Status& why) {
  const auto end = context().failures.Take(MonotonicNow());
  LOG_IF(WARNING, end.has_value())
      << "no link to " << peer() << ": " << why.message() << *end;
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
                                std::shared_ptr<AcceptGate> gate,
                                const std::string& host) {
  SetSocket(std::move(socket));
  if (!BeginAccepting(std::move(gate), host)) return;
  phase_ = Phase::kSecuring;
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
  hung_up_ |= events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
  if (phase_ == Phase::kConnecting) {
    OnConnectDone();
  } else if (phase_ == Phase::kSecuring) {
    GoOnSecuring();
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
  if (const absl::Status good = CheckSocket(); !good.ok()) {
    TellFailure(good);
    Fail(good);
    return;
  }
  phase_ = Phase::kSecuring;
  GoOnSecuring();
}

void SocketLink::GoOnSecuring() {
  const absl::StatusOr<bool> done = Secure();
  if (closing()) return;
  if (!done.ok()) {
    EndInsecurely(done.status());
    return;
  }
  if (!*done) return;
  phase_ = Phase::kPreface;
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
  const Preface preface =
      MakePreface(SocketKind::kRefused, SocketSide::kAcceptor,
                  static_cast<uint32_t>(options().max_message), 0, era());
  (void)SendAll(
      absl::MakeConstSpan(reinterpret_cast<const std::byte*>(&preface),
                          sizeof(preface)),
      /*fd=*/-1);
}

bool SocketLink::SendPreface(const Offer& offer) {
  const Preface preface = MakePreface(
      kind_, connector() ? SocketSide::kConnector : SocketSide::kAcceptor,
      static_cast<uint32_t>(options().max_message), offer.ring_bytes, era());
  std::string bytes(reinterpret_cast<const char*>(&preface), sizeof(preface));
  bytes += OwnExtra();
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
  received_extra_.resize(ExtraExpected());
  const size_t all = kPrefaceBytes + received_extra_.size();
  while (received_bytes_ < all) {
    auto* const to = reinterpret_cast<std::byte*>(&received_);
    const bool extra = received_bytes_ >= kPrefaceBytes;
    const absl::StatusOr<size_t> count = Receive(
        extra ? absl::MakeSpan(
                    reinterpret_cast<std::byte*>(received_extra_.data()),
                    received_extra_.size())
                    .subspan(received_bytes_ - kPrefaceBytes)
              : absl::MakeSpan(to, kPrefaceBytes).subspan(received_bytes_),
        &received_fd_);
    if (!count.ok()) {
      if (connector() && !absl::IsUnavailable(count.status())) {
        TellFailure(count.status());
      }
      Fail(absl::Status(count.status().code(),
                        absl::StrCat("before its preface was complete: ",
                                     count.status().message())));
      return;
    }
    if (*count == 0) return;
    received_bytes_ += *count;
    if (extra) continue;
    const absl::Status sound = CheckPreface(
        received_, received_bytes_, kind_,
        connector() ? SocketSide::kAcceptor : SocketSide::kConnector);
    if (!sound.ok()) return OnBadPreface(sound);
  }
  OnPrefaceComplete();
}

void SocketLink::OnBadPreface(const absl::Status& why) {
  // Answers a peer that wants TLS in TLS.
  const bool tls = BeginsTls(reinterpret_cast<const std::byte&>(received_));
  if (connector() && (tls || absl::IsPermissionDenied(why))) TellFailure(why);
  if (tls && !connector()) {
    const absl::Status clear = absl::FailedPreconditionError(
        "it speaks TLS, and this side has no certificates: see --tls_cert");
    SayAlert(socket_.get());
    return FailAs(LinkRefusal::kHandshake, clear);
  }
  Fail(why);
}

void SocketLink::OnPrefaceComplete() {
  if (!connector()) {
    if (absl::Status now = CheckEra(received_.era); !now.ok()) {
      Fail(now);
      return;
    }
  }
  absl::StatusOr<size_t> max_message =
      OnPreface(received_, received_extra_, std::move(received_fd_));
  if (closing()) return;
  if (!max_message.ok()) {
    if (absl::IsUnauthenticated(max_message.status()) && connector()) {
      TellFailure(max_message.status());
    }
    if (!connector() && (absl::IsUnauthenticated(max_message.status()) ||
                         absl::IsPermissionDenied(max_message.status()))) {
      SayRefused();
    }
    Fail(max_message.status());
    return;
  }
  if (!connector() && !SendPreface(Offer{})) return;
  phase_ = Phase::kOpen;
  // Bytes behind the preface have had their edge already.
  if (Open(*max_message)) OnSocketEvents(EPOLLIN | EPOLLOUT | hung_up_);
}

}  // namespace kamino::transport
