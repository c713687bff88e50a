// The settings that all nodes of a chain have in common: the heap size and the
// feature levels (membership/agreement.h). A manager refuses a node that
// differs from the members of the view, or, before the first view, from the
// other nodes. When all members are down, all can change together.
#ifndef KAMINO_MEMBERSHIP_MANAGER_COMMON_SETTINGS_H_
#define KAMINO_MEMBERSHIP_MANAGER_COMMON_SETTINGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/node_registry.h"
#include "membership/view.h"

namespace kamino::membership {

// kFailedPrecondition, with the setting that a node does not share; OK: "".
absl::Status InCommon(absl::string_view mismatch);

// Not thread-safe. `now` is monotonic.
class CommonSettings {
 public:
  CommonSettings(const ManagerContext* context, NodeRegistry* registry)
      : context_(context), registry_(registry) {}

  // kFailedPrecondition: the heap has another size.
  absl::Status CheckHeap(const Member& member, absl::Time now) const;
  // kFailedPrecondition: the member differs from a node that Binds.
  absl::Status CheckAgreement(const Member& member, absl::Time now) const;
  // Makes nodes register again whose settings differ from a member's: nodes
  // outside the view that came while the member was away, and, if it was not
  // restarted, restarted members.
  void ForgetMismatches(const Member& member, absl::Time now);
  // The same for the levels in force.
  void ForgetMismatches();

 private:
  using Node = NodeRegistry::Node;

  // Whether registering nodes must have the same settings as this one: once
  // there is a view, its members decide.
  bool Binds(const Node& node, absl::Time now) const;

  const ManagerContext* const context_;
  NodeRegistry* const registry_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_COMMON_SETTINGS_H_
