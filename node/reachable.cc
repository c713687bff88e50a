#include "node/reachable.h"

#include <ifaddrs.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/address.h"
#include "security/in_the_clear.h"
#include "server/server_program.h"
#include "transport/socket/lookup_pool.h"
#include "transport/socket/socket_address.h"

namespace kamino::node {
namespace {

using security::IsLoopback;
using server::BadFlag;
using transport::SocketAddress;

bool AreLoopback(const std::vector<std::string>& addresses) {
  return !addresses.empty() &&
         std::all_of(addresses.begin(), addresses.end(),
                     [](const std::string& each) { return IsLoopback(each); });
}

bool IsOfAnInterface(const SocketAddress& address) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(first, freeifaddrs);
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const auto own = transport::AddressFrom(*each->ifa_addr);
    if (own.has_value() && TextOf(*own) == TextOf(address)) return true;
  }
  return false;
}

// A manager on another machine serves nodes that are on other machines.
bool HasManagersElsewhere(
    const NodeFlags& flags,
    const std::function<bool(const std::string& host)>& is_local) {
  return std::any_of(flags.managers.begin(), flags.managers.end(),
                     [&](const std::string& manager) {
                       const auto parsed = ParseAddress(manager);
                       return parsed.ok() && !is_local(parsed->host);
                     });
}

absl::Status Unreachable(absl::string_view flag, const std::string& named,
                         const std::vector<std::string>& bound) {
  return BadFlag(
      flag,
      absl::StrCat("is ", named, ", which is bound to ",
                   absl::StrJoin(bound, ", "),
                   ", and other machines cannot reach that, while the managers "
                   "or the clients of this node are on other machines; name an "
                   "address that they reach (a machine's own name may be "
                   "127.0.1.1 in its /etc/hosts)"));
}

}  // namespace

bool IsOfThisMachine(const std::string& host) {
  if (host == "localhost" || IsLoopbackNumber(host)) return true;
  if (const auto number = transport::AddressOfNumber(host, 0)) {
    return IsOfAnInterface(*number);
  }
  const auto found = transport::LookUpBySystem(host);
  // A manager that cannot be found proves nothing.
  return !found.ok() ||
         std::all_of(found->begin(), found->end(), [](const auto& each) {
           const auto parsed = ParseAddress(TextOf(each));
           return (parsed.ok() && IsLoopbackNumber(parsed->host)) ||
                  IsOfAnInterface(each);
         });
}

absl::Status CheckReachable(
    const NodeFlags& flags, const BoundAddresses& bound,
    const std::function<bool(const std::string& host)>& is_local) {
  // Links in shared memory connect processes of this machine only.
  if (flags.transport == "shm") return absl::OkStatus();
  const bool named = !flags.advertise.empty();
  const bool links = flags.link_advertise.empty() && AreLoopback(bound.links);
  const bool service = !named && AreLoopback(bound.service);
  const bool peers = !named && AreLoopback(bound.peers);
  if (!links && !service && !peers) return absl::OkStatus();
  const bool reached =
      named ? !IsLoopback(flags.advertise) : !AreLoopback(bound.service);
  if (!reached && !HasManagersElsewhere(flags, is_local)) {
    return absl::OkStatus();
  }
  if (links) return Unreachable("link_listen", flags.link_listen, bound.links);
  if (service) return Unreachable("listen", flags.listen, bound.service);
  return Unreachable(
      flags.peer_listen.empty() ? "listen" : "peer_listen",
      flags.peer_listen.empty() ? flags.listen : flags.peer_listen,
      bound.peers);
}

}  // namespace kamino::node
