// The nodes that are to leave the chain or to stay out of it: operators removed
// them, or another member reports that they do not answer
// (membership/manager/suspects.h).
#ifndef KAMINO_MEMBERSHIP_MANAGER_REMOVALS_H_
#define KAMINO_MEMBERSHIP_MANAGER_REMOVALS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/next_view.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/store_watch.h"
#include "membership/manager/suspects.h"
#include "membership/view.h"

namespace kamino::membership {

enum class Removal {
  kNow,
  kDrain,   // once the chain is complete without it
  kForced,  // now, even if only one member would hold the data
};

// Not thread-safe. `now` is monotonic.
class Removals {
 public:
  Removals(ManagerContext* context, const NodeRegistry* registry,
           const StoreWatch* watch)
      : context_(context),
        registry_(registry),
        watch_(watch),
        suspects_(context->options.failure_timeout) {}

  // --- Operators; only while this manager leads. In force with the next view.

  // Removes a node from the chain and keeps it out. kNotFound: the node is
  // unknown. kFailedPrecondition: there is no chain yet; it could not continue
  // without the node; only one member would be left; or no node could take its
  // place. kResourceExhausted: too many nodes are excluded.
  absl::Status Exclude(const std::string& node_id, Removal how, absl::Time now);
  // The node may join again.
  void Include(const std::string& node_id);

  // --- Suspicions.

  Suspects& suspects() { return suspects_; }
  const Suspects& suspects() const { return suspects_; }
  void ForgetSuspects();
  // Call before Leaves: a suspect whose result diverges from the head's stays,
  // unless a view without it is already proposed.
  void HeedDivergence(const Member& member, const NodeReport& report);

  // The process is being removed and gets no answers until then.
  bool Leaves(const Member& member, absl::Time now) const;
  // The nodes that may not join now.
  Exclusions KeptOut(absl::Time now) const;

 private:
  // The only live member that would stay when this one leaves; "": there are
  // others.
  std::string LastWithout(const std::string& node_id, const KnownNodes& states,
                          const Exclusions& excluded) const;
  // kFailedPrecondition: no node could take the member's place. `wanted`: the
  // exclusions with it.
  absl::Status CheckDrain(const std::string& node_id, const KnownNodes& states,
                          const Exclusions& wanted) const;
  // Whether the manager would carry out `admin remove` of this member.
  bool MayRemove(const std::string& node_id, const KnownNodes& states) const;

  ManagerContext* const context_;
  const NodeRegistry* const registry_;
  const StoreWatch* const watch_;
  Suspects suspects_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_REMOVALS_H_
