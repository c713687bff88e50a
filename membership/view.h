// A view: one instance of a chain (Kamino-Tx, section 5.3). Values only; all
// code that decides by views includes this header.
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

// Limit of a member's or manager's address: host:port or a path.
inline constexpr size_t kMaxAddressBytes = 256;

// Key of a member's link addresses: its server for other nodes, if that is
// separate.
inline constexpr char kPeerCalls[] = "grpc";

// A node that is in a chain or may join it.
struct Member {
  std::string node_id;
  uint64_t incarnation = 0;  // of the process that was admitted
  std::string service_address;
  std::map<std::string, std::string> link_addresses;  // by transport name
  uint64_t heap_bytes = 0;
  std::string heap_id;       // the heap's uuid, 16 bytes; survives a restart
  Agreement agreement = {};  // the levels that it supports
  // Identity in the certificate that it registered with, as a URI; "": none.
  // Links require IdentityOf (membership/member_identity.h).
  std::string identity = {};

  // The address for calls of other nodes: that of clients, or a separate
  // server.
  const std::string& peer_address() const {
    const auto apart = link_addresses.find(kPeerCalls);
    return apart == link_addresses.end() ? service_address : apart->second;
  }

  // Whether `later` is this node, restarted on the same heap.
  bool IsRestartedAs(const Member& later) const {
    return node_id == later.node_id && heap_id == later.heap_id &&
           incarnation < later.incarnation;
  }

  friend bool operator==(const Member& a, const Member& b);
};

// A member in a planned stop (docs/operate/planned_stops.md), which is expected
// to return: its place is kept.
struct Away {
  uint64_t incarnation = 0;  // of the process that has ended
  std::string heap_id;       // of the node's heap as a member
  // The first view without the node. If too many have stopped, it is still a
  // member, and this is the first view that lists it as away.
  uint64_t view_id = 0;
  bool was_head = false;  // in the view before that one

  friend bool operator==(const Away&, const Away&) = default;
};

struct View {
  std::string cluster_id;
  uint64_t id = 0;              // from 1, dense; 0: the chain is not formed yet
  std::vector<Member> members;  // head first
  // Nodes that an operator removed; true: only once the chain is complete
  // without them.
  std::map<std::string, bool> excluded = {};
  ChainId chain_id = kOnlyChain;
  // Distinguishes this view from another one with the same id, for example
  // after the store of views was restored from an older copy (view_history.h);
  // 0: unknown.
  uint64_t digest = 0;
  // digests of the preceding views, latest first
  std::vector<uint64_t> ancestors = {};
  InForce in_force = {};  // the levels that its members use
  // Made with the cluster's first view, 16 bytes; empty: unknown.
  std::string cluster_uuid = {};
  // From 1; each forced recovery (store_recovery.cc) raises it by one. 0:
  // unknown. Views and data of a lower epoch no longer count.
  uint64_t epoch = 0;
  // In the view of a forced recovery: the last mutation that each member held,
  // by node id.
  std::map<std::string, uint64_t> recovered_at = {};
  // Nodes that are away, by node id; not part of the digest.
  std::map<std::string, Away> away = {};

  friend bool operator==(const View& a, const View& b);

  bool formed() const { return id != 0; }

  // Puts the levels of `before` in force as far as all members support them
  // (KeptOf).
  void Agree(const InForce& before);
  void Finalize() { in_force = FinalLevels(); }
  // The levels that Finalize would put in force.
  InForce FinalLevels() const;
  // The mode of all members.
  ChainMode mode() const;

  // Index of that incarnation of that node, or -1.
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

  // Neighbours of the member at `index`; null: none.
  const Member* Predecessor(int index) const;
  const Member* Successor(int index) const;
  const Member& head() const { return members.front(); }  // formed() only
  const Member& tail() const { return members.back(); }   // formed() only

  // Whether the former head handed over to this one by a planned stop.
  bool handed_over() const;

  // "view 3: n1 (head) -> n2 -> n4 (tail)"
  std::string ToString() const;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_VIEW_H_
