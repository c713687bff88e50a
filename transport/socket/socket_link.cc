#include "transport/socket/socket_link.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::transport {
namespace {

absl::string_view KindName(LinkKind kind) {
  return kind == LinkKind::kTcp ? "tcp" : "shm";
}

}  // namespace

SocketLink::SocketLink(std::shared_ptr<SocketContext> context, LinkKind kind,
                       std::string peer)
    : context_(std::move(context)),
      kind_(kind),
      peer_(std::move(peer)),
      max_message_(context_->options.max_message) {}

LinkCapabilities SocketLink::capabilities() const {
  LinkCapabilities capabilities;
  capabilities.name = KindName(kind_);
  capabilities.one_sided = kind_ == LinkKind::kShm;
  absl::MutexLock lock(&mu_);
  capabilities.max_message = max_message_;
  return capabilities;
}

absl::Status SocketLink::CheckSendLocked(size_t length) const {
  if (closing()) {
    return absl::UnavailableError(
        absl::StrCat("link to ", peer_, " is closed: ", why_.message()));
  }
  if (state_ != State::kOpen) {
    return absl::UnavailableError(
        absl::StrCat("link to ", peer_, " is not established yet"));
  }
  if (length > max_message_) {
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", length, " bytes; the link to ", peer_,
                     " takes ", max_message_));
  }
  return absl::OkStatus();
}

void SocketLink::Close() {
  absl::MutexLock lock(&mu_);
  BeginCloseLocked(absl::CancelledError("closed by this side"));
}

void SocketLink::BeginCloseLocked(const absl::Status& why) {
  if (closing()) return;
  why_ = why;
  closing_.store(true, std::memory_order_release);
  // Refused only when the loop has stopped, and then the link is closed.
  loop().Post([self = shared_from_this()] { self->Finish(); });
}

void SocketLink::Fail(const absl::Status& why) {
  {
    absl::MutexLock lock(&mu_);
    if (!closing()) {
      why_ = why;
      closing_.store(true, std::memory_order_release);
    }
  }
  Finish();
}

void SocketLink::Finish() {
  if (state_ == State::kClosed) return;
  const std::shared_ptr<SocketLink> keep = shared_from_this();
  if (timer_ != 0) loop().CancelTimer(timer_);
  const bool was_open = state_ == State::kOpen;
  if (was_open) OnStopping();
  if (watch_ != 0) loop().Unwatch(watch_);
  watch_ = 0;
  absl::Status why;
  {
    absl::MutexLock lock(&mu_);
    state_ = State::kClosed;
    ReleaseLocked();
    socket_.Reset();
    why = why_;
  }
  context_->links.erase(keep);
  if (gate_ != nullptr) --gate_->live;
  if (handler_ != nullptr) {
    handler_->OnClosed(why);
    handler_ = nullptr;
  } else if (gate_ != nullptr && !absl::IsCancelled(why)) {
    LOG(WARNING) << "refused " << peer_ << " at " << gate_->address << ": "
                 << why.message();
  }
  gate_ = nullptr;
}

// What both kinds of start have in common; false when the link is closed.
bool SocketLink::Begin() {
  CHECK(state_ == State::kNew);
  context_->links.insert(shared_from_this());
  if (context_->stopping) {
    Fail(absl::CancelledError("the transport is being destroyed"));
    return false;
  }
  // A Close that came first has its Finish posted behind this.
  if (closing()) return false;
  timer_ = loop().StartTimer(options().connect_timeout, [this] {
    timer_ = 0;
    Fail(absl::DeadlineExceededError(
        absl::StrCat("not established within ",
                     absl::FormatDuration(options().connect_timeout))));
  });
  return true;
}

void SocketLink::StartConnecting(std::vector<SocketAddress> candidates,
                                 std::shared_ptr<LinkHandler> handler) {
  candidates_ = std::move(candidates);
  handler_ = std::move(handler);
  if (Begin()) TryNextCandidate();
}

void SocketLink::TryNextCandidate() {
  while (next_candidate_ < candidates_.size()) {
    if (TryCandidate(candidates_[next_candidate_++])) return;
  }
  Fail(absl::UnavailableError(
      absl::StrCat("connect to ", peer_, ": ", connect_error_)));
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
  SetState(State::kConnecting);
  if (absl::Status watched = WatchSocket(); !watched.ok()) {
    connect_error_ = std::string(watched.message());
    DropSocket();
    return false;
  }
  return true;
}

void SocketLink::StartAccepting(UniqueFd socket,
                                std::shared_ptr<AcceptGate> gate) {
  gate_ = std::move(gate);
  ++gate_->live;
  SetSocket(std::move(socket));
  if (!Begin()) return;
  SetState(State::kPreface);
  if (absl::Status watched = WatchSocket(); !watched.ok()) Fail(watched);
}

bool SocketLink::Awaits(const AcceptGate* gate) const {
  return gate_.get() == gate && handler_ == nullptr && !deciding_;
}

void SocketLink::SetSocket(UniqueFd socket) {
  absl::MutexLock lock(&mu_);
  socket_ = std::move(socket);
}

void SocketLink::SetState(State state) {
  absl::MutexLock lock(&mu_);
  state_ = state;
}

absl::Status SocketLink::WatchSocket() {
  absl::StatusOr<EventLoop::Id> id =
      loop().Watch(socket_.get(), EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                   [this](uint32_t events) { OnEvents(events); });
  if (!id.ok()) return id.status();
  watch_ = *id;
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
  const std::shared_ptr<SocketLink> keep = shared_from_this();
  if (closing()) return;
  if (state_ == State::kConnecting) {
    OnConnectDone();
  } else if (state_ == State::kPreface) {
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
  SetState(State::kPreface);
  if (SendPreface(MakeOffer())) ReadPreface();
}

bool SocketLink::SendPreface(const Offer& offer) {
  Preface preface = MakePreface(
      kind_, gate_ == nullptr ? LinkRole::kConnector : LinkRole::kAcceptor,
      static_cast<uint32_t>(options().max_message), offer.ring_bytes);
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
        gate_ == nullptr ? LinkRole::kAcceptor : LinkRole::kConnector);
    if (!sound.ok()) {
      Fail(sound);
      return;
    }
  }
  OnPrefaceComplete();
}

void SocketLink::OnPrefaceComplete() {
  absl::StatusOr<size_t> max_message =
      OnPreface(received_, std::move(received_fd_));
  if (!max_message.ok()) {
    Fail(max_message.status());
    return;
  }
  if (gate_ != nullptr && !SendPreface(Offer{})) return;
  loop().CancelTimer(timer_);
  timer_ = 0;
  {
    absl::MutexLock lock(&mu_);
    max_message_ = *max_message;
    state_ = State::kOpen;
  }
  if (!HandOver()) return;
  OnOpen();
  // Bytes behind the preface have had their edge already.
  if (!closing()) OnSocketEvents(EPOLLIN | EPOLLOUT);
}

// Makes the link known to its user; false when it is closed or closing.
bool SocketLink::HandOver() {
  if (gate_ == nullptr) {
    handler_->OnConnected(shared_from_this());
    return !closing();
  }
  // The acceptor may destroy its listener; both outlive the call.
  const std::shared_ptr<AcceptGate> gate = gate_;
  deciding_ = true;
  if (gate->open) handler_ = gate->acceptor(shared_from_this());
  deciding_ = false;
  if (handler_ == nullptr) {
    Fail(absl::CancelledError("refused by the acceptor"));
    return false;
  }
  return !closing();
}

}  // namespace kamino::transport
