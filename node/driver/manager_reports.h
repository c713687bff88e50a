// A node's reports to the manager.
#ifndef KAMINO_NODE_DRIVER_MANAGER_REPORTS_H_
#define KAMINO_NODE_DRIVER_MANAGER_REPORTS_H_

#include "membership/node_report.h"
#include "node/driver/chain_node.h"
#include "node/driver/node_context.h"

namespace kamino::node {

// Core thread only.
class ManagerReports {
 public:
  // `context` outlives this.
  explicit ManagerReports(const NodeContext* context) : context_(*context) {}

  // The next report contains the current cursors.
  void OnTick() { ticked_ = true; }
  // Hands the node's report to the view source if it has changed.
  void Report();

 private:
  const NodeContext& context_;
  membership::NodeReport reported_;
  ChainNode::Standing standing_;  // as of the last report
  bool ticked_ = true;            // since cursors were reported
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_MANAGER_REPORTS_H_
