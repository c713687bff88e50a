// LinkHub's checks of the identity of its links' peers.
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "glog/logging.h"
#include "membership/member_identity.h"
#include "node/driver/link_hub.h"

namespace kamino::node {
namespace {

using replica::LinkId;
using transport::Link;

// The interval between two checks of established links.
constexpr absl::Duration kLookEvery = absl::Seconds(1);

}  // namespace

bool LinkHub::IsSelf(const std::string& identity) const {
  return identity ==
         membership::NodeIdentity(options_.cluster_id, options_.node_id);
}

void LinkHub::PauseSelfDial(LinkId id) {
  absl::MutexLock lock(&mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Way& way = ways_[found->second.opening_to];
  way.self_at = found->second.opening_at;
  way.self_until = MonotonicNow() + options_.self_dial_pause;
}

absl::Status LinkHub::RefuseImpostor(const std::string& identity,
                                     const std::string& expected) {
  ended_.impostor.fetch_add(1, std::memory_order_relaxed);
  std::string why = absl::StrCat(
      identity.empty() ? "a process without a certificate" : identity,
      " is at the other end of a link", expected.empty() ? "" : " to ",
      expected);
  if (!identity.empty() && IsSelf(identity)) {
    absl::StrAppend(
        &why,
        ", which is this node itself: --link_listen or --link_advertise of the "
        "other node must name a host that the other nodes reach");
  }
  if (const auto end = impostors_.Take(MonotonicNow())) {
    LOG(WARNING) << "ended a link: " << why << *end;
  }
  return absl::PermissionDeniedError(why);
}

void LinkHub::CloseDenied(absl::Time now) {
  if (!options_.knows_peers || options_.transport.admit == nullptr ||
      now - looked_ < kLookEvery) {
    return;
  }
  looked_ = now;
  std::map<LinkId, std::shared_ptr<Link>> links;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, connection] : connections_) {
      if (connection.link != nullptr) links[id] = connection.link;
    }
  }
  for (const auto& [id, link] : links) {
    const std::string identity = link->peer_identity();
    if (identity.empty()) continue;  // it is not established yet
    const absl::Status admitted = options_.transport.admit(identity);
    if (admitted.ok()) continue;
    ended_.denied.fetch_add(1, std::memory_order_relaxed);
    LOG(WARNING) << "ended a link with " << identity << ": "
                 << admitted.message();
    Close(id);
  }
}

}  // namespace kamino::node
