// A planned stop of a node: its handover to the other members, and its end.
#ifndef KAMINO_NODE_DRIVER_PLANNED_STOP_H_
#define KAMINO_NODE_DRIVER_PLANNED_STOP_H_

#include <functional>

#include "absl/time/time.h"
#include "membership/node_report.h"
#include "node/driver/departure.h"
#include "node/driver/node_context.h"

namespace kamino::node {

// Core thread only, unless said otherwise.
class PlannedStop {
 public:
  // `context` outlives this.
  explicit PlannedStop(const NodeContext* context)
      : context_(*context), departure_(context->options.departure) {}

  // Hands this node's part over to the other members, if they are enough, and
  // surrenders its lease. Calls `done` once, on the core thread, when that is
  // over, successful or not, after some seconds at most; `has_left`: the chain
  // continues without this node. Requests meanwhile are redirected to the next
  // view, or wait for it. Any thread.
  void HandOver(std::function<void(bool has_left)> done);

  // The process is about to stop as planned. Executes nothing more, and calls
  // `done` once, on the core thread, when the next head cannot mistake a
  // request here for one on which this node crashed. That needs an answer of
  // the successor, which may never come: wait for kRetireTime, then Node::Stop.
  // Any thread.
  void Retire(std::function<void()> done);
  static constexpr absl::Duration kRetireTime = absl::Milliseconds(100);

  void OnTick(absl::Time now);
  // ChainNode has taken a view.
  void OnView();
  // The manager has answered.
  void OnStopPermission(membership::StopPermission permission, absl::Time now);
  // After the batch's actions.
  void EndOfBatch(absl::Time now);

 private:
  bool IsMember() const;
  // Takes the departure's next step.
  void Continue();

  const NodeContext& context_;
  Departure departure_;
  std::function<void(bool)> on_handed_over_;  // null: no call of HandOver waits
  std::function<void()> on_retired_;          // likewise
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_PLANNED_STOP_H_
