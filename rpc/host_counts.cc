#include "rpc/host_counts.h"

#include <netinet/in.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/socket_host.h"
#include "rpc/connection_ends.h"

namespace kamino::rpc {
namespace {

// 0: not a socket, or closed.
uint64_t SocketOf(int descriptor) {
  struct stat about = {};
  if (fstat(descriptor, &about) != 0 || !S_ISSOCK(about.st_mode)) return 0;
  return about.st_ino;
}

}  // namespace

void HostCounts::DropEnded(Connections* connections) {
  const auto ended = [](const Connection& each) {
    return SocketOf(each.descriptor) != each.socket;
  };
  connections->erase(
      std::remove_if(connections->begin(), connections->end(), ended),
      connections->end());
}

int HostCounts::HalfOpen(const Connections& connections, absl::Time now) const {
  int count = 0;
  for (auto each = connections.rbegin(); each != connections.rend(); ++each) {
    if (now - each->at > limits_.handshake) break;
    if (SocketOf(each->descriptor) != each->socket) continue;
    if (known_ == nullptr || !known_(each->address)) ++count;
  }
  return count;
}

void HostCounts::DropEndedHosts() {
  for (auto host = hosts_.begin(); host != hosts_.end();) {
    DropEnded(&host->second.connections);
    if (host->second.connections.empty()) {
      hosts_.erase(host++);
    } else {
      ++host;
    }
  }
  most_hosts_ = std::max<size_t>(1024, 2 * hosts_.size());
}

HostCounts::Verdict HostCounts::VerdictOn(OfHost* host, absl::Time now) const {
  const auto full = [&](int limit) {
    return limit != 0 && static_cast<int>(host->connections.size()) >= limit;
  };
  if (full(limits_.connections)) DropEnded(&host->connections);
  if (full(limits_.connections)) return Verdict::kTooMany;
  if (full(limits_.half_open) &&
      HalfOpen(host->connections, now) >= limits_.half_open) {
    return Verdict::kTooManyHalfOpen;
  }
  return Verdict::kTaken;
}

HostCounts::Verdict HostCounts::Take(int descriptor,
                                     const sockaddr_storage& peer,
                                     absl::Time now) {
  if (hosts_.size() >= most_hosts_) DropEndedHosts();
  OfHost& of_host = hosts_[HostOf(peer)];
  if (now < of_host.full_until) return of_host.full;
  const Verdict verdict = VerdictOn(&of_host, now);
  if (verdict == Verdict::kTaken) {
    of_host.connections.push_back(
        {descriptor, SocketOf(descriptor), now, AddressOf(peer)});
  } else {
    of_host.full = verdict;
    of_host.full_until = now + limits_.full;
  }
  return verdict;
}

}  // namespace kamino::rpc
