#include "transport/shm/shm_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "transport/shm/shm_link.h"
#include "transport/socket/socket_transport.h"

namespace kamino::transport {
namespace {

constexpr int kBacklog = 128;

absl::Status CannotListen(const std::string& path, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot listen at shm address ", path, ": ", what, ": ",
                   ::strerror(errno)));
}

// A lock beside the socket shows whether its owner is alive: the socket file
// outlives a killed process, and two starting processes could each take the
// other's for a dead one's.
absl::StatusOr<UniqueFd> LockBeside(const std::string& path) {
  const std::string lock_path = path + ".lock";
  UniqueFd lock(::open(lock_path.c_str(),
                       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                       S_IRUSR | S_IWUSR));
  if (!lock.valid()) return CannotListen(path, lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return CannotListen(path, "flock");
  return absl::AlreadyExistsError(
      absl::StrCat("shm address ", path, " is already in use"));
}

// The file at `path` belongs to a dead process, if it is a socket.
absl::Status RemoveStale(const std::string& path) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return absl::OkStatus();
  if (!S_ISSOCK(info.st_mode)) {
    return absl::AlreadyExistsError(
        absl::StrCat("shm address ", path, " is a file and not a socket"));
  }
  if (::unlink(path.c_str()) != 0) return CannotListen(path, "unlink");
  return absl::OkStatus();
}

class ShmProtocol final : public SocketProtocol {
 public:
  ShmProtocol(std::string directory, size_t ring_bytes, ShmPasses passes)
      : directory_(std::move(directory)),
        ring_bytes_(ring_bytes),
        passes_(std::move(passes)) {}

  absl::StatusOr<Bound> Bind(const std::string& address) const override {
    const std::string path = PathOf(address);
    ASSIGN_OR_RETURN(SocketAddress name, Name(path));
    ASSIGN_OR_RETURN(UniqueFd lock, LockBeside(path));
    RETURN_IF_ERROR(RemoveStale(path));
    UniqueFd socket(
        ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return CannotListen(path, "socket");
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name.storage),
               name.length) != 0) {
      return CannotListen(path, "bind");
    }
    // Before listen, when no peer can have connected: a peer maps memory of its
    // own making into this process and has to be the same user.
    if (::chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 ||
        ::listen(socket.get(), kBacklog) != 0) {
      return CannotListen(path, "listen");
    }
    auto held = std::make_shared<UniqueFd>(std::move(lock));
    return Bound{std::move(socket), path, [path, held] {
                   ::unlink(path.c_str());
                   held->Reset();
                 }};
  }

  absl::StatusOr<SocketTarget> TargetOf(
      const std::string& address) const override {
    ASSIGN_OR_RETURN(SocketAddress name, Name(PathOf(address)));
    SocketTarget target;
    target.addresses.push_back(name);
    return target;
  }

  absl::StatusOr<std::shared_ptr<SocketLink>> NewConnector(
      std::shared_ptr<LinkContext> context, std::string peer) const override {
    ASSIGN_OR_RETURN(auto created, SharedRings::Create(ring_bytes_));
    const std::string address = peer;
    return std::make_shared<ShmLink>(std::move(context), std::move(peer),
                                     address, std::move(created), passes_);
  }

  Accepted NewAcceptor(std::shared_ptr<LinkContext> context,
                       int socket) const override {
    ucred peer = {};
    socklen_t length = sizeof(peer);
    ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    return {
        std::make_shared<ShmLink>(std::move(context),
                                  absl::StrCat("process ", peer.pid), passes_),
        /*host=*/""};
  }

 private:
  std::string PathOf(const std::string& address) const {
    if (address.find('/') != std::string::npos) return address;
    return absl::StrCat(directory_, "/", address);
  }

  static absl::StatusOr<SocketAddress> Name(const std::string& path) {
    SocketAddress address = {};
    auto* name = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.empty() || path.back() == '/' ||
        path.size() >= sizeof(name->sun_path)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", path, "\" is not a socket's path of at most ",
                       sizeof(name->sun_path) - 1, " bytes"));
    }
    name->sun_family = AF_UNIX;
    std::memcpy(name->sun_path, path.c_str(), path.size() + 1);
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) +
                                            path.size() + 1);
    return address;
  }

  const std::string directory_;
  const size_t ring_bytes_;
  const ShmPasses passes_;
};

}  // namespace

TransportFactory ShmTransports(const std::string& directory, ShmPasses passes) {
  return {kShmCapabilities,
          [directory, passes](const TransportOptions& options)
              -> absl::StatusOr<std::unique_ptr<Transport>> {
            if (options.certificates != nullptr && passes.registry == nullptr &&
                passes.source == nullptr) {
              return absl::InvalidArgumentError(
                  "shm links with certificates need passes");
            }
            return MakeSocketTransport(
                options, options.spin,
                std::make_shared<ShmProtocol>(directory, options.ring_bytes,
                                              passes));
          }};
}

}  // namespace kamino::transport
