// A node's work on its core thread at each tick and after each batch.
#ifndef KAMINO_NODE_DRIVER_CORE_HOOKS_H_
#define KAMINO_NODE_DRIVER_CORE_HOOKS_H_

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "node/driver/core_executor.h"
#include "node/driver/manager_reports.h"
#include "node/driver/node_context.h"
#include "node/driver/planned_stop.h"
#include "node/driver/propagation_pace.h"
#include "node/driver/standing_board.h"
#include "replica/link/chain_actions.h"

namespace kamino::node {

// A user of the node's core thread that acts on the results of requests.
class CoreUser {
 public:
  virtual ~CoreUser() = default;
  // With each tick of the node.
  virtual void OnTick(absl::Time now) = 0;
  // The batch's actions were carried out; sends the answers.
  virtual void EndOfBatch() = 0;
};

// Core thread only, unless said otherwise.
class CoreHooks {
 public:
  // The pointers outlive this.
  CoreHooks(NodeContext* context, StandingBoard* standing,
            PlannedStop* planned_stop, ManagerReports* reports)
      : context_(*context),
        standing_(*standing),
        planned_stop_(*planned_stop),
        reports_(*reports) {}

  // For the executor; this outlives its thread. Any thread.
  CoreExecutor::Hooks Hooks();

  // From now on `user` is called; it outlives the core thread. Once.
  void Attach(CoreUser* user) { user_ = user; }

  // ChainProgress::settled as of the last batch. Any thread.
  uint64_t settled() const { return settled_.load(std::memory_order_relaxed); }

 private:
  void OnTick();
  bool EndOfBatch();
  void CarryOut(replica::Actions actions);
  // One step of it. Returns whether there is more to do.
  bool BringUndoCopyUpToDate();

  NodeContext& context_;
  StandingBoard& standing_;
  PlannedStop& planned_stop_;
  ManagerReports& reports_;
  PropagationPace pace_;
  CoreUser* user_ = nullptr;
  std::atomic<uint64_t> settled_{0};
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CORE_HOOKS_H_
