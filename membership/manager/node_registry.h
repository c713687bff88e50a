// The nodes that a leader knows: the members of the view and the registered
// nodes, their last reports, and when it heard them last.
#ifndef KAMINO_MEMBERSHIP_MANAGER_NODE_REGISTRY_H_
#define KAMINO_MEMBERSHIP_MANAGER_NODE_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/former_leases.h"
#include "membership/manager/kept_places.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/next_view.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic. Pointers to nodes are valid until the
// node is erased.
class NodeRegistry {
 public:
  struct Node {
    KnownNode state;  // except `alive`, which depends on the time
    // in the future while leases of former leaders may be valid
    absl::Time last_heard;
    bool heard = false;  // by this leader itself
  };
  using Nodes = std::map<std::string, Node>;  // by node id

  NodeRegistry(const ManagerContext* context, const KeptPlaces* places)
      : context_(context), places_(places) {}

  // A leadership begins, with the view of the context; see FormerLeases::Begin.
  void Begin(absl::Duration former_leases, uint64_t lease_term, absl::Time now);
  // Forgets all nodes but the members of `view`, which count as heard at
  // `last_heard`.
  void KnowMembersOf(const View& view, absl::Time last_heard);
  void Clear();
  // `next` is stored. Call before the context changes: applies former leases to
  // the nodes that become members.
  void OnView(const View& next);

  const Nodes& nodes() const { return nodes_; }
  // Null: the node is unknown.
  const Node* Find(const std::string& node_id) const;
  Node* FindMutable(const std::string& node_id);
  // Adds the node, or replaces what was known of it.
  void Put(Node node);
  // `erases` may change the nodes that stay.
  void EraseIf(absl::FunctionRef<bool(Node*)> erases);
  // Makes room for one more node. kResourceExhausted: max_nodes.
  absl::Status MakeRoom(absl::Time now);

  // Members on stale copies that wait (membership/manager/old_copies.h); some
  // are gone.
  const Nodes& waiting() const { return waiting_; }
  const Node* FindWaiting(const std::string& node_id) const;
  void KeepWaiting(Node node);
  void EndWait(const std::string& node_id) { waiting_.erase(node_id); }

  const FormerLeases& leases() const { return leases_; }
  bool Alive(const Node& node, absl::Time now) const {
    return now - node.last_heard < context_->options.failure_timeout;
  }
  KnownNode StateOf(const Node& node, absl::Time now) const;
  KnownNodes States(absl::Time now) const;
  // Whether the process may take the place of the known one. kAlreadyExists:
  // see ManagerCore::Register.
  absl::Status CheckTakeover(const Node& known, const Member& member,
                             absl::Time now) const;
  // Whether a member of the view was heard lately.
  bool HearsAMember(absl::Time now) const;
  // The members that the chain waits for: absent ones, if the others cannot
  // continue alone, and those in a planned stop without which too few would be
  // left. Contains refused members, and members that returned without their
  // data, only if there are no others: the chain then waits for their data.
  std::vector<std::string> WaitingFor(absl::Time now) const;
  // Before the first view: the number of missing fresh nodes; then 0.
  size_t NodesMissing(absl::Time now) const;

 private:
  const ManagerContext* const context_;
  const KeptPlaces* const places_;
  FormerLeases leases_;
  Nodes nodes_;
  Nodes waiting_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_NODE_REGISTRY_H_
