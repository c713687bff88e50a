// Registers a node with the manager, and applies each view to its parts.
#ifndef KAMINO_NODE_DRIVER_VIEW_FOLLOWER_H_
#define KAMINO_NODE_DRIVER_VIEW_FOLLOWER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "membership/agent/view_source.h"
#include "membership/view.h"
#include "node/driver/manager_reports.h"
#include "node/driver/node_context.h"
#include "node/driver/planned_stop.h"

namespace kamino::node {

// Core thread only, unless said otherwise.
class ViewFollower {
 public:
  // The pointers outlive this.
  ViewFollower(NodeContext* context, PlannedStop* planned_stop,
               ManagerReports* reports)
      : context_(*context), planned_stop_(*planned_stop), reports_(*reports) {}

  // As Node::Join. Not on the core thread.
  absl::Status Join(const std::string& service_address,
                    const std::string& peer_address);

  // Views that the node has taken, since its start.
  uint64_t view_changes() const { return view_changes_; }

 private:
  membership::Member Self(const std::string& service_address,
                          const std::string& peer_address) const;
  membership::ViewSourceCallbacks Callbacks();
  // How long the node waits before it registers.
  absl::Duration Rest() const;
  void OnView(const membership::View& view);

  NodeContext& context_;
  PlannedStop& planned_stop_;
  ManagerReports& reports_;
  uint64_t view_changes_ = 0;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_VIEW_FOLLOWER_H_
