// Planned stops: the answers to stopping members, and the view that drops them
// at once. membership/manager/kept_places.h counts how long their places are
// kept.
#ifndef KAMINO_MEMBERSHIP_MANAGER_PLANNED_STOPS_H_
#define KAMINO_MEMBERSHIP_MANAGER_PLANNED_STOPS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "membership/manager/kept_places.h"
#include "membership/manager/manager_context.h"
#include "membership/manager/next_view.h"
#include "membership/manager/node_registry.h"
#include "membership/manager/stop_permissions.h"
#include "membership/manager/store_watch.h"
#include "membership/view.h"

namespace kamino::membership {

// Not thread-safe. `now` is monotonic.
class PlannedStops {
 public:
  PlannedStops(const ManagerContext* context, const KeptPlaces* places,
               const NodeRegistry* registry, const StoreWatch* watch)
      : context_(context),
        places_(places),
        registry_(registry),
        watch_(watch),
        stop_permissions_(context->options.heartbeat_interval * 3) {}

  // The answer to a node that has just called and is stopping.
  StopPermission PermissionFor(const std::string& node_id, absl::Time now);
  // When a node that has just called must call again; zero: at the usual
  // interval.
  absl::Duration CallAgainAfter(const std::string& node_id, absl::Time now);

  // The next view if it only drops members that have surrendered their leases.
  std::optional<View> HandedOver(absl::Time now) const;
  // Whether `next` may follow the view (StopPermissions::MayFollow).
  bool MayFollow(const View& next, const KnownNodes& states,
                 absl::Time now) const;
  // The view of the context is stored.
  void OnView() { stop_permissions_.OnView(context_->view); }
  void Clear() { stop_permissions_.Clear(); }

 private:
  using Node = NodeRegistry::Node;

  // A member has surrendered its lease, and the other members' data is known.
  bool MayHandOver(absl::Time now) const;

  const ManagerContext* const context_;
  const KeptPlaces* const places_;
  const NodeRegistry* const registry_;
  const StoreWatch* const watch_;
  StopPermissions stop_permissions_;
};

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_MANAGER_PLANNED_STOPS_H_
