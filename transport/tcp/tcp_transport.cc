#include "transport/tcp/tcp_transport.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/socket_host.h"
#include "base/status_macros.h"
#include "transport/socket/socket_transport.h"
#include "transport/tcp/tcp_link.h"

namespace kamino::transport {
namespace {

constexpr int kBacklog = 128;

absl::StatusOr<std::vector<SocketAddress>> Lookup(const std::string& address,
                                                  int flags) {
  const size_t colon = address.rfind(':');
  uint32_t number;
  // getaddrinfo would take a port over 65535 and cut it.
  if (colon == std::string::npos ||
      !absl::SimpleAtoi(address.substr(colon + 1), &number) || number > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address, "\" is not host:port"));
  }
  std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                  port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot resolve \"", address, "\": ",
        error == EAI_SYSTEM ? ::strerror(errno) : ::gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    SocketAddress entry = {};
    std::memcpy(&entry.storage, one->ai_addr, one->ai_addrlen);
    entry.length = one->ai_addrlen;
    addresses.push_back(entry);
  }
  ::freeaddrinfo(found);
  return addresses;
}

// "host:port" in numbers.
std::string Text(const SocketAddress& address) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage),
                    address.length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown";
  }
  return address.storage.ss_family == AF_INET6
             ? absl::StrCat("[", host, "]:", port)
             : absl::StrCat(host, ":", port);
}

// A bound, listening socket, or -1 and errno.
UniqueFd ListenAt(const SocketAddress& address) {
  UniqueFd socket(::socket(address.storage.ss_family,
                           SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  // Connections of an earlier process in TIME_WAIT must not keep this one off.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage),
             address.length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    socket.Reset();
    errno = error;
  }
  return socket;
}

class TcpProtocol final : public SocketProtocol {
 public:
  explicit TcpProtocol(std::shared_ptr<const TlsSetup> tls)
      : tls_(std::move(tls)) {}

  absl::StatusOr<Bound> Bind(const std::string& address) const override {
    ASSIGN_OR_RETURN(auto candidates, Lookup(address, AI_PASSIVE));
    int error = EADDRNOTAVAIL;
    for (const SocketAddress& candidate : candidates) {
      UniqueFd socket = ListenAt(candidate);
      if (socket.valid()) {
        SocketAddress at = {};
        at.length = sizeof(at.storage);
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at.storage),
                      &at.length);
        return Bound{std::move(socket), Text(at), nullptr};
      }
      error = errno;
    }
    if (error == EADDRINUSE) {
      return absl::AlreadyExistsError(
          absl::StrCat("tcp address ", address, " is already in use"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot listen at tcp address ", address, ": ", ::strerror(error)));
  }

  absl::StatusOr<std::vector<SocketAddress>> Resolve(
      const std::string& address) const override {
    return Lookup(address, 0);
  }

  absl::StatusOr<std::shared_ptr<SocketLink>> NewConnector(
      std::shared_ptr<LinkContext> context, std::string peer) const override {
    return std::make_shared<TcpLink>(std::move(context), std::move(peer), tls_);
  }

  Accepted NewAcceptor(std::shared_ptr<LinkContext> context,
                       int socket) const override {
    SocketAddress from = {};
    from.length = sizeof(from.storage);
    ::getpeername(socket, reinterpret_cast<sockaddr*>(&from.storage),
                  &from.length);
    return {std::make_shared<TcpLink>(std::move(context), Text(from), tls_),
            HostOf(from.storage)};
  }

 private:
  const std::shared_ptr<const TlsSetup> tls_;  // null: in the clear
};

}  // namespace

TransportFactory TcpTransports() {
  return {kTcpCapabilities,
          [](const TransportOptions& options)
              -> absl::StatusOr<std::unique_ptr<Transport>> {
            std::shared_ptr<const TlsSetup> tls;
            if (options.certificates != nullptr) {
              ASSIGN_OR_RETURN(tls, TlsSetup::Make(options.certificates));
            }
            // Sockets announce everything; there is nothing to spin for.
            return MakeSocketTransport(
                options, /*spin=*/absl::ZeroDuration(),
                std::make_shared<TcpProtocol>(std::move(tls)));
          }};
}

}  // namespace kamino::transport
