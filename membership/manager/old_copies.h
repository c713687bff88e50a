// Detects members that return with stale copies of their data, by what the
// chain has acknowledged according to the store and the other members. If all
// returned members are on stale copies, no live node holds all that the chain
// has acknowledged. They wait, without being asked for anything, for other
// nodes or newer files, or until an operator recovers from their data
// (membership/manager/old_copy_recovery.h).
#ifndef KAMINO_MEMBERSHIP_MANAGER_OLD_COPIES_H_
#define KAMINO_MEMBERSHIP_MANAGER_OLD_COPIES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/next_view.h"
#include "membership/manager/node_registry.h"
#include "membership/progress.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class OldCopies {
 public:
  using Node = NodeRegistry::Node;

  OldCopies(ManagerContext* context, NodeRegistry* registry)
      : context_(context), registry_(registry) {}

  // Notes the progress that members report. It is stored permanently and so
  // needs two reports: one member's acknowledged mutations must be applied at
  // another.
  void NoteProgress();
  // The chain's progress, for the store, while this manager leads and after.
  const Progress& progress() const { return context_->progress; }

  // For a registration. kFailedPrecondition: the node was a member in a past
  // recovery epoch, or CheckHoldsAll. kUnavailable: no node that holds the
  // missing data was heard yet, so the node waits.
  absl::Status CheckReturn(const Node& node, absl::Time now);
  // kFailedPrecondition: the node has a stale copy of a member's data.
  absl::Status CheckHoldsAll(const Node& node, absl::Time now) const;
  // Whether the node's data is older than the incarnation in the view, and no
  // other node makes up for it.
  bool IsOfEarlierLife(const Node& node, const Node& known,
                       absl::Time now) const;
  // Notes that the node waits for a node that holds more, and tells it so.
  absl::Status KeepWaiting(const Node& node, absl::Time now);
  // The last mutation that the member's former process is known to have
  // applied.
  uint64_t HeldBefore(const Node& known, const Member& member) const;

  // The waiting node that holds the most; `whole`: only nodes without an
  // interrupted entry. Null: none.
  const Node* Newest(absl::Time now, bool whole) const;
  // Which nodes and data the chain waits for; "": none.
  std::string WhyWaits(absl::Time now) const;

 private:
  // As last reported by the other members. A member that is alone in its view
  // has no other to confirm it.
  uint64_t AppliedByOthers(const std::string& node_id) const;
  // Whether the node was a member in a past recovery epoch.
  bool IsAbandoned(const Node& node) const;
  // Whether the node is a member and holds less than was acknowledged in this
  // epoch.
  bool FallsShort(const Node& node) const;
  // Whether another member is there that holds everything.
  bool AnotherHoldsAll(const std::string& but, absl::Time now) const;
  std::optional<Shortfall> ShortfallOfNode(const Node& node,
                                           absl::Time now) const;

  ManagerContext* const context_;
  NodeRegistry* const registry_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_OLD_COPIES_H_
