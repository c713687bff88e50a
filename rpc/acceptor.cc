#include "rpc/acceptor.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/is_told.h"
#include "base/own_addresses.h"
#include "base/socket_host.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "metrics/counters.h"
#include "rpc/connection_ends.h"

namespace kamino::rpc {
namespace {

// Descriptors left for the rest of the process.
constexpr int kMostSpared = 256;
constexpr int kRetryMs = 100;  // while no connection can be taken
// Connections accepted from one listener before the others, and the end, get
// their turn.
constexpr int kMostATurn = 64;
// Attempts to find a port that is free at all addresses.
constexpr int kPicks = 8;

void Set(int socket, int level, int option, int value) {
  PCHECK(setsockopt(socket, level, option, &value, sizeof value) == 0);
}

int PortOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  PCHECK(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) ==
         0);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
}

absl::StatusOr<std::vector<OwnAddress>> Resolve(const std::string& listen) {
  ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(listen));
  return LookUpOwnAddresses(parsed.host, parsed.port);
}

metrics::Counters refusals(
    "kamino_server_refused_connections_total",
    "Refused connections to gRPC servers, by reason: too_many (descriptors), "
    "too_many_of_host, half_open (unfinished handshakes of a host).",
    {"reason"});

}  // namespace

Acceptor::Acceptor(const Options& options)
    : options_(options),
      hosts_({options.max_of_host != 0 ? options.max_of_host
                                       : options.max_descriptors * 3 / 4,
              options.max_half_open_of_host}) {
  // So that the counters are on the page from the start.
  for (const char* why : {"too_many", "too_many_of_host", "half_open"}) {
    refusals.Of({why});
  }
}

absl::StatusOr<std::unique_ptr<Acceptor>> Acceptor::Listen(
    const Options& options) {
  const auto addresses = Resolve(options.listen);
  absl::Status status = addresses.status();
  std::unique_ptr<Acceptor> acceptor;
  for (int pick = 0; status.ok() && pick < kPicks; ++pick) {
    acceptor = absl::WrapUnique(new Acceptor(options));
    absl::StatusOr<bool> listens = acceptor->ListenOnAll(*addresses);
    status = listens.status();
    if (status.ok() && *listens) return acceptor;
  }
  if (status.ok()) {
    status = absl::UnavailableError("no port is free at all its addresses");
  }
  return absl::Status(status.code(),
                      absl::StrCat("cannot listen on ", options.listen, ": ",
                                   status.message()));
}

absl::StatusOr<bool> Acceptor::ListenOnAll(
    const std::vector<OwnAddress>& addresses) {
  for (const OwnAddress& each : addresses) {
    ASSIGN_OR_RETURN(const bool free, ListenOn(each));
    if (!free) return false;
  }
  if (!listeners_.empty()) return true;
  return absl::UnavailableError("no address of that host is this machine's");
}

absl::StatusOr<bool> Acceptor::ListenOn(const OwnAddress& address) {
  sockaddr_storage local = address.storage;
  const int listener =
      socket(local.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0 && errno == EAFNOSUPPORT) return true;
  if (listener < 0) return absl::UnavailableError(std::strerror(errno));
  auto& port = local.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&local)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&local)->sin_port;
  const bool picked = port == 0 && port_ != 0;
  if (port == 0) port = htons(static_cast<uint16_t>(port_));  // one for all
  Set(listener, SOL_SOCKET, SO_REUSEADDR, 1);
  // Accepted connections inherit these options.
  Set(listener, IPPROTO_TCP, TCP_NODELAY, 1);
  Set(listener, IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<int>(absl::ToInt64Milliseconds(options_.user_timeout)));
  if (bind(listener, reinterpret_cast<sockaddr*>(&local), address.length) ==
          0 &&
      ::listen(listener, SOMAXCONN) == 0) {
    listeners_.push_back(listener);
    port_ = PortOf(listener);
    return true;
  }
  const int error = errno;
  close(listener);
  // A host's name may stand for addresses that this machine lacks.
  if (error == EADDRNOTAVAIL) return true;
  if (error == EADDRINUSE && picked) return false;
  return absl::UnavailableError(std::strerror(error));
}

Acceptor::~Acceptor() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    PCHECK(write(wake_, &one, sizeof one) == sizeof one);
    thread_.join();
    close(wake_);
  }
  for (const int listener : listeners_) close(listener);
}

std::vector<std::string> Acceptor::addresses() const {
  std::vector<std::string> addresses;
  for (const int listener : listeners_) {
    sockaddr_storage bound = {};
    socklen_t size = sizeof bound;
    PCHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size) ==
           0);
    addresses.push_back(AddressOf(bound));
  }
  return addresses;
}

void Acceptor::Start(std::function<void(int)> take, HostCounts::Known known) {
  take_ = std::move(take);
  hosts_.SetKnown(std::move(known));
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  PCHECK(wake_ >= 0);
  thread_ = std::thread([this] { Run(); });
}

int Acceptor::MaxDescriptors() const {
  int most = options_.max_descriptors;
  if (options_.bounded_elsewhere) most += options_.bounded_elsewhere();
  rlimit limit = {};
  PCHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int all =
      static_cast<int>(std::min<rlim_t>(limit.rlim_cur, most + kMostSpared));
  return std::min(most, all - std::min(all / 4, kMostSpared));
}

void Acceptor::Run() {
  pthread_setname_np(pthread_self(), "acceptor");
  std::vector<pollfd> awaited = {{wake_, POLLIN, 0}};
  for (const int listener : listeners_) {
    awaited.push_back({listener, POLLIN, 0});
  }
  bool can_take = true;
  for (;;) {
    // A connection that cannot be accepted stays in the queue, and would end
    // every wait at once.
    const nfds_t count = can_take ? awaited.size() : 1;
    if (poll(awaited.data(), count, can_take ? -1 : kRetryMs) < 0) {
      PCHECK(errno == EINTR);
    }
    if (awaited[0].revents != 0) return;
    can_take = true;
    for (const int listener : listeners_) {
      can_take = AcceptAll(listener) && can_take;
    }
  }
}

bool Acceptor::AcceptAll(int listener) {
  for (int taken = 0; taken < kMostATurn; ++taken) {
    sockaddr_storage peer = {};
    socklen_t size = sizeof peer;
    const int connection = accept4(listener, reinterpret_cast<sockaddr*>(&peer),
                                   &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      PLOG_IF(ERROR, IsTold(++failed_))
          << "cannot take a connection to " << options_.listen << ", attempt "
          << failed_;
      return false;
    }
    failed_ = 0;
    if (const std::string why = WhyNot(connection, peer); !why.empty()) {
      Refuse(connection, why);
      continue;
    }
    take_(connection);
  }
  return true;
}

std::string Acceptor::WhyNot(int connection, const sockaddr_storage& peer) {
  // The lowest free number, so at least that many are in use.
  const int limit = MaxDescriptors();
  if (connection >= limit) {
    refusals.Of({"too_many"})->Add();
    return absl::StrCat(limit,
                        " descriptors of this process are in use, which is "
                        "the limit for connections");
  }
  switch (hosts_.Take(connection, peer, MonotonicNow())) {
    case HostCounts::Verdict::kTaken:
      return "";
    case HostCounts::Verdict::kTooMany:
      refusals.Of({"too_many_of_host"})->Add();
      return "its host has the maximum number of connections";
    case HostCounts::Verdict::kTooManyHalfOpen:
      refusals.Of({"half_open"})->Add();
      return "its host has the maximum number of unfinished handshakes";
  }
  return "";
}

void Acceptor::Refuse(int connection, const std::string& why) {
  close(connection);
  const auto more = refusals_.Take(MonotonicNow());
  LOG_IF(WARNING, more.has_value())
      << "refused a connection to " << options_.listen << ": " << why << *more;
}

}  // namespace kamino::rpc
