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

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"
#include "base/own_addresses.h"
#include "base/socket_host.h"
#include "base/status_macros.h"
#include "transport/socket/lookup_pool.h"
#include "transport/socket/socket_transport.h"
#include "transport/tcp/tcp_link.h"

namespace kamino::transport {
namespace {

constexpr int kBacklog = 128;

// The addresses to listen on; an empty host means all.
absl::StatusOr<std::vector<OwnAddress>> OwnAddresses(
    const std::string& address) {
  const bool all = absl::StartsWith(address, ":");
  ASSIGN_OR_RETURN(HostPort parsed,
                   ParseAddress(all ? absl::StrCat("[::]", address) : address));
  auto found = LookUpOwnAddresses(all ? "" : parsed.host, parsed.port);
  if (absl::IsUnavailable(found.status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot resolve \"", address, "\": ", found.status().message()));
  }
  return found;
}

// A bound, listening socket, or -1 and errno.
UniqueFd ListenAt(const OwnAddress& address) {
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
  TcpProtocol(std::shared_ptr<const TlsSetup> tls, TcpNames names)
      : tls_(std::move(tls)), names_(std::move(names)) {}

  absl::StatusOr<Bound> Bind(const std::string& address) const override {
    ASSIGN_OR_RETURN(const auto candidates, OwnAddresses(address));
    int error = EADDRNOTAVAIL;
    for (const OwnAddress& candidate : candidates) {
      UniqueFd socket = ListenAt(candidate);
      if (socket.valid()) {
        SocketAddress at = {};
        at.length = sizeof(at.storage);
        ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at.storage),
                      &at.length);
        return Bound{std::move(socket), TextOf(at), nullptr};
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

  absl::StatusOr<SocketTarget> TargetOf(
      const std::string& address) const override {
    ASSIGN_OR_RETURN(const HostPort parsed, ParseAddress(address));
    SocketTarget target;
    if (const auto number = AddressOfNumber(parsed.host, parsed.port)) {
      target.addresses.push_back(*number);
      return target;
    }
    target.host = parsed.host;
    target.port = parsed.port;
    target.resolver = names_.resolver;
    target.last_good = names_.last_good;
    return target;
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
    return {std::make_shared<TcpLink>(std::move(context), TextOf(from), tls_),
            HostOf(from.storage)};
  }

 private:
  const std::shared_ptr<const TlsSetup> tls_;  // null: in the clear
  const TcpNames names_;                       // with a resolver
};

}  // namespace

TransportFactory TcpTransports(TcpNames names) {
  return {kTcpCapabilities,
          [names = std::move(names)](const TransportOptions& options)
              -> absl::StatusOr<std::unique_ptr<Transport>> {
            std::shared_ptr<const TlsSetup> tls;
            if (options.certificates != nullptr) {
              ASSIGN_OR_RETURN(tls, TlsSetup::Make(options.certificates));
            }
            TcpNames own = names;
            if (own.resolver == nullptr) {
              // One for all transports: threads that wait for a name server
              // outlive a transport, and are few in the whole process.
              static const auto* const pool =
                  new auto(std::make_shared<LookupPool>());
              own.resolver = *pool;
            }
            // Sockets announce everything; there is nothing to spin for.
            return MakeSocketTransport(
                options, /*spin=*/absl::ZeroDuration(),
                std::make_shared<TcpProtocol>(std::move(tls), std::move(own)));
          }};
}

}  // namespace kamino::transport
