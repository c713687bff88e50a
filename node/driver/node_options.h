// A node's options, its environment, and its observers.
#ifndef KAMINO_NODE_DRIVER_NODE_OPTIONS_H_
#define KAMINO_NODE_DRIVER_NODE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/heap/open_snapshots.h"
#include "head/admission.h"
#include "membership/view.h"
#include "node/driver/call_load.h"
#include "node/driver/chain_node.h"
#include "node/driver/core_executor.h"
#include "node/driver/departure.h"
#include "node/driver/link_hub.h"
#include "node/driver/restart_policy.h"
#include "replica/core/chain_core.h"
#include "rpc/cluster_identity.h"

namespace kamino::node {

// The environment of a node.
struct NodeRuntime {
  // The clock of the whole node; never goes back. Any thread.
  std::function<absl::Time()> clock;
  // Runs the tasks of the core thread.
  std::unique_ptr<CoreExecutor> executor;
  // Most committed transactions that are copied to the undo copy between two
  // batches; called each time. PropagationPace lowers it if they take long.
  std::function<size_t()> propagation_step = [] { return size_t{64}; };
};

struct NodeOptions {
  // heap_bytes and incarnation are taken from the storage.
  replica::ChainOptions chain;
  head::AdmissionOptions admission;
  LinkHub::Options links;
  RestartPolicy restarts;
  DepartureOptions departure;
  engine::OpenSnapshotsOptions snapshots;
  // Mutations, and their bytes of arguments, that may wait for the core thread
  // or be on their way; more are refused with REASON_OVERLOADED.
  int64_t max_pending_requests = 16384;
  int64_t max_pending_bytes = 256 << 20;
  CallLoadOptions reads;
  // Only the limits on unsent answers apply.
  CallLoadOptions results;
  // Gets this node's cluster, shared with its clients to managers. Null: the
  // node makes its own.
  std::shared_ptr<rpc::ClusterIdentity> cluster;
};

struct NodeEvents {
  // The node cannot continue; the process should stop. On any thread.
  std::function<void(absl::Status)> fatal;
  // Whether this node may serve, and in which role; at each change. On the core
  // thread, from the first view on, so never before Node::Join.
  std::function<void(membership::Role role, bool serves)> role;
  // After the node has decided a batch, before any of it leaves the node; for
  // tests that keep a history. On the core thread. May be null.
  std::function<void(const ChainNode& node)> decided;
  // Each new view. On the core thread. May be null.
  std::function<void(const membership::View& view)> view = nullptr;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_OPTIONS_H_
