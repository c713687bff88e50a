#include "node/driver/node_context.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "membership/condition.h"
#include "replica/log/node_record.h"

namespace kamino::node {

NodeContext::NodeContext(NodeOptions options_of_node, NodeRuntime runtime,
                         std::unique_ptr<Storage> storage_of_node,
                         membership::ViewSource* views, NodeEvents events)
    : options(std::move(options_of_node)),
      clock(std::move(runtime.clock)),
      propagation_step(std::move(runtime.propagation_step)),
      events(std::move(events)),
      views(views),
      started(clock()),
      view_board(options.chain.chain_id),
      cluster(options.cluster != nullptr
                  ? options.cluster
                  : std::make_shared<rpc::ClusterIdentity>()),
      meters(options.reads, options.results, clock),
      storage(std::move(storage_of_node)),
      core(std::move(runtime.executor)) {
  const replica::NodeState& state = storage->record()->state();
  const bool holds_state = state.condition != membership::Condition::kReceiving;
  const std::string uuid =
      holds_state ? absl::BytesToHexString(replica::BytesOf(state.cluster_uuid))
                  : "";
  if (uuid.empty()) {
    cluster->SetName(options.chain.cluster_id);
  } else {
    cluster->Set(options.chain.cluster_id, uuid);
  }
}

}  // namespace kamino::node
