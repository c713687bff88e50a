// A view: one concrete instance of a chain (Kamino-Tx, section 5.3). Values
// only; everyone who decides by a view includes this header.
#ifndef KAMINO_MEMBERSHIP_VIEW_H_
#define KAMINO_MEMBERSHIP_VIEW_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/chain_id.h"
#include "base/chain_mode.h"
#include "membership/agreement.h"

namespace kamino::membership {

enum class Role {
  kOutside,  // not in the view
  kHead,
  kMiddle,
  kTail,
  kSingle,  // head and tail at once
};

absl::string_view RoleName(Role role);  // "head", "middle", ...

// Of a member's or a manager's: host:port, or a path.
inline constexpr size_t kMaxAddressBytes = 256;

// Among a member's link addresses: that of its server for other nodes, if it
// has one apart.
inline constexpr char kPeerCalls[] = "grpc";

// A node that is in a chain, or may come to be.
struct Member {
  std::string node_id;
  uint64_t incarnation = 0;  // of the process that was admitted
  std::string service_address;
  std::map<std::string, std::string> link_addresses;  // by transport name
  uint64_t heap_bytes = 0;
  std::string heap_id;       // the heap's uuid, 16 bytes: survives a restart
  Agreement agreement = {};  // what it can work with
  // Of the certificate that it registered with, as a URI; "": in the clear.
  // Whom links are had with: IdentityOf (membership/member_identity.h).
  std::string identity = {};

  // Where the other nodes' calls go: where clients' do, or to a server apart.
  const std::string& peer_address() const {
    const auto apart = link_addresses.find(kPeerCalls);
    return apart == link_addresses.end() ? service_address : apart->second;
  }

  // Whether `later` is this node, started again on the same heap.
  bool IsRestartedAs(const Member& later) const {
    return node_id == later.node_id && heap_id == later.heap_id &&
           incarnation < later.incarnation;
  }

  friend bool operator==(const Member& a, const Member& b);
};

// A member whose process has ended in order (docs/operate/planned_stops.md),
// and is expected back: its place is kept for it.
struct Away {
  uint64_t incarnation = 0;  // of the process that has ended
  std::string heap_id;       // that it had as a member
  // The first view that is without it. Where more have stopped than may be lost
  // it is a member yet, and this the first view that says so.
  uint64_t view_id = 0;
  bool was_head = false;  // in the view before that one

  friend bool operator==(const Away&, const Away&) = default;
};

struct View {
  std::string cluster_id;
  uint64_t id = 0;              // from 1, dense; 0: the chain is not formed yet
  std::vector<Member> members;  // head first
  // Nodes that an operator wants out of the chain; true: only once it is
  // complete without them.
  std::map<std::string, bool> excluded = {};
  ChainId chain_id = kOnlyChain;
  // Tells this view from another one of the same id, as after the store of
  // views was put back from an older copy (view_history.h); 0: not known.
  uint64_t digest = 0;
  std::vector<uint64_t> ancestors = {};  // digests, of the one before first
  InForce in_force = {};                 // what its members work with
  // Made with the cluster's first view, 16 bytes; empty: not known.
  std::string cluster_uuid = {};
  // One higher with each forced recovery (store_recovery.cc); from 1, 0: not
  // known. Views and data of a lower one count no more.
  uint64_t epoch = 0;
  // Of a forced recovery's view: up to which mutation its members held the
  // chain's data, by node id.
  std::map<std::string, uint64_t> recovered_at = {};
  // Nodes that are away, by node id; no part of the digest.
  std::map<std::string, Away> away = {};

  friend bool operator==(const View& a, const View& b);

  bool formed() const { return id != 0; }

  // Puts in force what was before, as far as all members can (KeptOf), or the
  // highest that they can.
  void Agree(const InForce& before);
  void Finalize() { in_force = Highest(); }
  // What Finalize would put in force.
  InForce Highest() const;
  // The one mode that all members have.
  ChainMode mode() const;

  // Position of that incarnation of that node, or -1.
  int IndexOf(absl::string_view node_id, uint64_t incarnation) const;
  Role RoleOf(absl::string_view node_id, uint64_t incarnation) const;
  // kOutside for -1.
  Role RoleAt(int index) const {
    if (index < 0) return Role::kOutside;
    if (members.size() == 1) return Role::kSingle;
    if (index == 0) return Role::kHead;
    return index + 1 == static_cast<int>(members.size()) ? Role::kTail
                                                         : Role::kMiddle;
  }

  // Of the member at `index`; null when there is none.
  const Member* Predecessor(int index) const;
  const Member* Successor(int index) const;
  const Member& head() const { return members.front(); }  // formed() only
  const Member& tail() const { return members.back(); }   // formed() only

  // Whether its head was handed that by the head before, which has ended in
  // order.
  bool handed_over() const;

  // "view 3: n1 (head) -> n2 -> n4 (tail)"
  std::string ToString() const;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_H_
