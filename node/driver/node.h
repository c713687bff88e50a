// A running node: a ChainNode, links to its neighbours and the manager's views,
// and the execution of its actions, batch after batch. Its runtime is given to
// it: a process's own (node/driver/real_runtime.h), or a simulated one.
#ifndef KAMINO_NODE_DRIVER_NODE_H_
#define KAMINO_NODE_DRIVER_NODE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/chain_id.h"
#include "engine/heap/open_snapshots.h"
#include "head/request.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/agent/view_source.h"
#include "node/driver/call_load.h"
#include "node/driver/chain_node.h"
#include "node/driver/core_hooks.h"
#include "node/driver/link_hub.h"
#include "node/driver/manager_reports.h"
#include "node/driver/node_context.h"
#include "node/driver/node_meters.h"
#include "node/driver/node_options.h"
#include "node/driver/planned_stop.h"
#include "node/driver/request_limit.h"
#include "node/driver/standing_board.h"
#include "node/driver/view_board.h"
#include "node/driver/view_follower.h"
#include "node/storage/storage.h"
#include "replica/procedure.h"
#include "rpc/cluster_identity.h"

namespace kamino::node {

// A node's metrics besides its status, since its start.
struct NodeSample {
  kamino::v1::GetNodeStatusResponse status;  // Node::Describe
  NodeStanding standing;
  uint64_t view_id = 0;
  uint64_t view_changes = 0;
  CallLoadStats reads;
  CallLoadStats results;
  engine::OpenSnapshotsStats snapshots;
  engine::HeapReserve heap_reserve;
  uint64_t backups = 0;         // saved from this node
  uint64_t backup_bytes = 0;    // of their records
  absl::Duration since_backup;  // infinite: there was none
  uint64_t result_bytes = 0;    // kept until their mutations are completed
  // As those of the status.
  std::vector<LinkHub::Traffic> links;
  LinkHub::Ended links_ended;
  StandingBoard::Conditions conditions;
};

// Thread-safe unless said otherwise.
class Node {
 public:
  using Events = NodeEvents;

  // Starts the core thread and listens for links. `procedures` and `views`
  // must outlive the node, and so must what `runtime` refers to.
  static absl::StatusOr<std::unique_ptr<Node>> Create(
      NodeOptions options, NodeRuntime runtime,
      std::unique_ptr<Storage> storage,
      const replica::ProcedureRegistry* procedures,
      membership::ViewSource* views, Events events);
  ~Node();

  // Registers with the manager, once. Clients reach the node at
  // `service_address` (host:port), other nodes at `peer_address`, or at the
  // same address if that is "". Delayed if this node has crashed repeatedly.
  absl::Status Join(const std::string& service_address,
                    const std::string& peer_address = "");

  PlannedStop& planned_stop() { return planned_stop_; }
  // Answers outstanding requests and stops. Idempotent.
  void Stop();
  // After Stop: notes how the process ends.
  RestartCount* restarts() { return context_->storage->restarts(); }

  // From now on `user` is called; it outlives the core thread (Stop). Once.
  void Attach(CoreUser* user);

  // A mutation; request.done is called on the core thread, or at once on this
  // one when it is refused.
  void Mutate(head::Request request);
  // The same, from the core thread.
  void Submit(head::Request request);

  // Runs `task` on the core thread; false when the node has stopped.
  bool Run(absl::AnyInvocable<void(ChainNode& node)> task);
  // The same for a read, which may wait longer behind other reads
  // (CoreExecutor::PostRead).
  bool Read(absl::AnyInvocable<void(ChainNode& node)> read);

  // The core thread's loop (CoreExecutor::loop).
  std::shared_ptr<transport::EventLoop> loop() {
    return context_->core->loop();
  }

  // Fills everything but the header. Core thread only.
  void Describe(ChainNode& node, kamino::v1::GetNodeStatusResponse* response);
  // Core thread only.
  void Sample(ChainNode& node, NodeSample* sample);
  // Core thread only.
  ChainNode& chain_node() { return *context_->chain; }

  // As of the last tick.
  NodeStanding standing() const { return standing_.standing(); }
  // Until Stop.
  const LinkHub& links() const { return *context_->links; }
  // ChainProgress::settled as of the last batch: every node of the chain has
  // executed the mutations up to it. For ResponseHeader.sequence. Any thread.
  uint64_t settled() const { return core_hooks_.settled(); }
  NodeMeters& meters() { return context_->meters; }

  ViewBoard& view_board() { return context_->view_board; }
  // This node's cluster, by its data or the newest view. Any thread.
  const rpc::ClusterIdentity& cluster() const { return *context_->cluster; }
  const NodeOptions& options() const { return context_->options; }
  const std::string& node_id() const { return options().chain.node_id; }
  ChainId chain_id() const { return options().chain.chain_id; }
  absl::Time Now() const { return context_->Now(); }

 private:
  explicit Node(std::unique_ptr<NodeContext> context);
  absl::Status Listen();

  const std::unique_ptr<NodeContext> context_;
  RequestLimit request_limit_;
  StandingBoard standing_;
  PlannedStop planned_stop_;
  ManagerReports reports_;
  ViewFollower view_follower_;
  CoreHooks core_hooks_;
  bool stopped_ = false;  // Stop() only
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_H_
