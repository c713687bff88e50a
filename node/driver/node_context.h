// The data that all parts of a node use.
#ifndef KAMINO_NODE_DRIVER_NODE_CONTEXT_H_
#define KAMINO_NODE_DRIVER_NODE_CONTEXT_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "absl/time/time.h"
#include "membership/agent/view_source.h"
#include "membership/agreement.h"
#include "node/driver/chain_node.h"
#include "node/driver/core_executor.h"
#include "node/driver/link_hub.h"
#include "node/driver/node_meters.h"
#include "node/driver/node_options.h"
#include "node/driver/view_board.h"
#include "node/storage/storage.h"
#include "rpc/cluster_identity.h"

namespace kamino::node {

// `views` outlives the node. Node makes `agreement`, `chain` and `links`, and
// ends the latter two after the core thread.
struct NodeContext {
  NodeContext(NodeOptions options, NodeRuntime runtime,
              std::unique_ptr<Storage> storage, membership::ViewSource* views,
              NodeEvents events);

  absl::Time Now() const { return clock(); }

  const NodeOptions options;
  const std::function<absl::Time()> clock;
  const std::function<size_t()> propagation_step;
  const NodeEvents events;
  membership::ViewSource* const views;
  const absl::Time started;
  ViewBoard view_board;
  const std::shared_ptr<rpc::ClusterIdentity> cluster;
  NodeMeters meters;
  membership::Agreement agreement;  // features that the node supports

  // Core thread only.
  std::unique_ptr<Storage> storage;
  std::unique_ptr<ChainNode> chain;

  std::unique_ptr<CoreExecutor> core;
  std::unique_ptr<LinkHub> links;  // posts to core
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_CONTEXT_H_
