// The data that all parts of a chain's node use.
#ifndef KAMINO_NODE_DRIVER_CHAIN_CONTEXT_H_
#define KAMINO_NODE_DRIVER_CHAIN_CONTEXT_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "engine/heap/open_snapshots.h"
#include "head/admission.h"
#include "node/storage/storage.h"
#include "replica/core/chain_core.h"
#include "replica/procedure.h"
#include "replica/state/heap_executor.h"
#include "replica/state/heap_ranges.h"
#include "replica/state/state_machine.h"

namespace kamino::node {

struct ChainNodeOptions {
  // The storage determines the chain's mode and its consequences.
  replica::ChainOptions chain;
  head::AdmissionOptions admission;
  // Whether this node, in view `view_id`, may answer by itself now: it holds
  // the manager's lease. Called after an answer was created, before it
  // leaves.
  std::function<bool(uint64_t view_id)> lease_valid;
  // Reports the current activity and its client or link, for observers.
  std::function<void(absl::string_view what, uint64_t whose)> doing =
      [](absl::string_view, uint64_t) {};
  engine::OpenSnapshotsOptions snapshots = {};
};

// Core thread only. The pointers outlive the node.
struct ChainContext {
  ChainContext(ChainNodeOptions options, Storage* storage,
               const replica::ProcedureRegistry* procedures);

  // From now on nothing but the fatal action leaves the node.
  void Fail(absl::Status status);
  bool failed() const { return has_failed || !pending.fatal.ok(); }
  // The error for clients.
  absl::Status Stopping() const;

  const ChainNodeOptions options;
  Storage* const storage;
  replica::StateMachine state;
  replica::HeapRanges ranges;
  engine::OpenSnapshots snapshots;
  replica::HeapExecutor executor;
  replica::ChainCore* core = nullptr;  // ChainNode makes it

  replica::Actions pending;  // of inputs since the last EndOfBatch
  bool has_failed = false;   // permanent; EndOfBatch has said why
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CHAIN_CONTEXT_H_
