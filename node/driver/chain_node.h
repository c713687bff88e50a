// The deterministic part of a node: protocol core, state, admission while it is
// head, reads. Like its parts it has no I/O, threads or clocks; a simulator can
// drive it as node/driver/node.h does.
//
// Use: any number of inputs, then EndOfBatch, then carry out the actions (see
// replica::Actions for the order), then PropagateToUndoCopy, which is thus off
// the critical path.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_DRIVER_CHAIN_NODE_H_
#define KAMINO_NODE_DRIVER_CHAIN_NODE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/heap/heap.h"
#include "membership/condition.h"
#include "membership/node_report.h"
#include "membership/view.h"
#include "node/driver/chain_context.h"
#include "node/driver/node_head.h"
#include "node/driver/node_reads.h"
#include "node/driver/node_snapshots.h"
#include "node/storage/storage.h"
#include "node/storage/storage_copy.h"
#include "replica/core/chain_core.h"
#include "replica/procedure.h"

namespace kamino::node {

class ChainNode {
 public:
  using Options = ChainNodeOptions;

  // Both must outlive this.
  ChainNode(Options options, Storage* storage,
            const replica::ProcedureRegistry* procedures);

  // --- Inputs; `now` is monotonic.

  void OnView(const membership::View& view, absl::Time now);
  void OnLinkOpened(replica::LinkId link, absl::Time now);
  void OnLinkClosed(replica::LinkId link, absl::Time now);
  void OnMessage(replica::LinkId link,
                 const kamino::internal::v1::ChainMessage& message,
                 absl::string_view payload, absl::Time now);
  void OnTick(absl::Time now);
  // As replica::ChainCore.
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout) {
    core_.OnStoodStill(time, failure_timeout);
  }
  // Whether the manager wants this node to join the chain.
  void OnInvited(bool invited, absl::Time now);

  // The end: answers waiting requests. No more input.
  void Stop() { head_.Stop(); }

  // The result of the inputs, to be carried out before the next one. A fatal
  // action ends the node: it comes alone, and from then on nothing else leaves
  // the node, and inputs are ignored.
  replica::Actions EndOfBatch(absl::Time now);

  // Copies up to `max` committed transactions to the undo copy. Returns whether
  // there is more to do: another EndOfBatch is due.
  bool PropagateToUndoCopy(size_t max);

  // Builds more of the summary for range comparisons
  // (replica::StateMachine::Summarize), for less than a millisecond. Returns
  // whether there is more to do.
  bool Summarize();

  // --- Parts, for requests and reads.

  NodeHead& head() { return head_; }
  const NodeHead& head() const { return head_; }
  NodeReads& reads() { return reads_; }
  NodeSnapshots& snapshots() { return snapshots_; }

  // --- State.

  const replica::ChainCore& core() const { return core_; }
  uint64_t incarnation() const { return context_.options.chain.incarnation; }
  // For the manager.
  membership::NodeReport report() const;
  // Everything in a report except cursors, waits and transfers, which change
  // all the time.
  struct Standing {
    uint64_t record = 0;  // NodeRecord::serial
    uint64_t view_id = 0;
    membership::Condition condition = membership::Condition::kUnknown;
    uint64_t caught_up_view = 0;

    friend bool operator==(const Standing&, const Standing&) = default;
  };
  Standing standing() const;
  const engine::Heap& heap() const { return *context_.storage->heap(); }

 private:
  ChainContext context_;
  StorageCopy copy_;
  replica::ChainCore core_;
  NodeReads reads_;
  NodeSnapshots snapshots_;
  NodeHead head_;
  bool cannot_summarize_ = false;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CHAIN_NODE_H_
