#include "rpc/connection_ends.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
// Not <netinet/tcp.h>, whose tcp_info ends earlier.
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/address.h"

namespace kamino::rpc {
namespace {

struct Address {
  std::string text;  // "": not an IP address
  int port = 0;
};

Address ToAddress(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  in_addr ip4 = {};
  int port = 0;
  if (address->sa_family == AF_INET6) {
    const auto& ip6 = *reinterpret_cast<const sockaddr_in6*>(address);
    port = ntohs(ip6.sin6_port);
    if (!IN6_IS_ADDR_V4MAPPED(&ip6.sin6_addr)) {
      inet_ntop(AF_INET6, &ip6.sin6_addr, text, sizeof text);
      return {absl::StrCat("[", text, "]:", port), port};
    }
    std::memcpy(&ip4, &ip6.sin6_addr.s6_addr[12], sizeof ip4);
  } else if (address->sa_family == AF_INET) {
    const auto& from = *reinterpret_cast<const sockaddr_in*>(address);
    port = ntohs(from.sin_port);
    ip4 = from.sin_addr;
  } else {
    return {};
  }
  inet_ntop(AF_INET, &ip4, text, sizeof text);
  return {absl::StrCat(text, ":", port), port};
}

// Calls `visit` with a duplicate of the descriptor of each IP connection of the
// process.
void ForEachConnection(
    const std::function<void(int descriptor, const Address& local,
                             const Address& peer)>& visit) {
  const auto close_folder = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close_folder)> folder(
      opendir("/proc/self/fd"), close_folder);
  if (folder == nullptr) return;
  while (const dirent* const entry = readdir(folder.get())) {
    int number = -1;
    if (!absl::SimpleAtoi(entry->d_name, &number)) continue;
    // The number may be reused meanwhile; the duplicate stays valid.
    const int own = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (own < 0) continue;
    sockaddr_storage peer = {};
    sockaddr_storage local = {};
    socklen_t peer_size = sizeof peer;
    socklen_t local_size = sizeof local;
    if (getpeername(own, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
        getsockname(own, reinterpret_cast<sockaddr*>(&local), &local_size) ==
            0) {
      visit(own, ToAddress(reinterpret_cast<sockaddr*>(&local)),
            ToAddress(reinterpret_cast<sockaddr*>(&peer)));
    }
    close(own);
  }
}

void Resolve(const std::string& target, std::set<std::string>* addresses) {
  const auto parsed = ParseAddress(target);
  if (!parsed.ok()) return;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(parsed->host.c_str(), absl::StrCat(parsed->port).c_str(),
                  &hints, &found) != 0) {
    return;
  }
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    addresses->insert(ToAddress(each->ai_addr).text);
  }
  freeaddrinfo(found);
}

}  // namespace

std::string AddressOfPeer(absl::string_view peer) {
  if (absl::ConsumePrefix(&peer, "ipv4:")) return std::string(peer);
  if (!absl::ConsumePrefix(&peer, "ipv6:")) return "";
  return absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}});
}

std::string AddressOf(const sockaddr_storage& address) {
  return ToAddress(reinterpret_cast<const sockaddr*>(&address)).text;
}

absl::flat_hash_set<std::string> PeersOf(int local_port) {
  absl::flat_hash_set<std::string> peers;
  ForEachConnection([&](int, const Address& local, const Address& peer) {
    if (local.port == local_port) peers.insert(peer.text);
  });
  return peers;
}

std::vector<Traffic> TrafficNow() {
  std::vector<Traffic> traffic;
  ForEachConnection(
      [&](int descriptor, const Address& local, const Address& peer) {
        tcp_info info = {};
        socklen_t size = sizeof(info);
        if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
          traffic.push_back({local.port, peer.text, info.tcpi_bytes_received});
        }
      });
  return traffic;
}

void ConnectionEnds::AddPeer(int local_port, const std::string& address) {
  absl::MutexLock lock(&mutex_);
  peers_.emplace(local_port, address);
}

void ConnectionEnds::AddTarget(const std::string& target) {
  absl::MutexLock lock(&mutex_);
  targets_.insert(target);
}

void ConnectionEnds::End() {
  std::set<std::pair<int, std::string>> peers;
  std::set<std::string> targets;
  {
    absl::MutexLock lock(&mutex_);
    peers.swap(peers_);
    targets.swap(targets_);
  }
  if (peers.empty() && targets.empty()) return;
  std::set<std::string> addresses;
  for (const std::string& target : targets) Resolve(target, &addresses);
  ForEachConnection([&](int descriptor, const Address& local,
                        const Address& peer) {
    if (peers.count({local.port, peer.text}) != 0 ||
        addresses.count(peer.text) != 0) {
      shutdown(descriptor, SHUT_RDWR);
      // Received data would still be read, up to megabytes.
      while (recv(descriptor, nullptr, 1 << 20, MSG_TRUNC | MSG_DONTWAIT) > 0) {
      }
    }
  });
}

}  // namespace kamino::rpc
