// A node's state for probes, and the time that it spends in each condition.
#ifndef KAMINO_NODE_DRIVER_STANDING_BOARD_H_
#define KAMINO_NODE_DRIVER_STANDING_BOARD_H_

#include <array>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "membership/condition.h"
#include "membership/view.h"
#include "node/driver/node_context.h"

namespace kamino::node {

// State for probes; see docs/operate/metrics.md.
struct NodeStanding {
  // In the view, caught up, linked to its neighbours, and it holds a lease.
  bool ready = false;
  bool lease = false;
  membership::Role role = membership::Role::kOutside;
  membership::Condition condition = membership::Condition::kUnknown;
  // The links to its neighbours have never come up in its view, although that
  // view is older than links usually need.
  bool unlinked = false;
};

// Core thread only, unless said otherwise.
class StandingBoard {
 public:
  struct InCondition {
    uint64_t times = 0;
    absl::Duration time;
  };
  // By membership::Condition.
  using Conditions = std::array<InCondition, membership::kConditions>;

  // `context` outlives the board.
  explicit StandingBoard(const NodeContext* context)
      : context_(*context), since_(context->started) {}

  // Notes the standing. Tells NodeEvents::role if this node's role has changed,
  // or whether it may serve.
  void OnTick(absl::Time now);

  // As of the last tick. Any thread.
  NodeStanding standing() const;
  // Up to `now`.
  const Conditions& ConditionsUntil(absl::Time now);

 private:
  void NoteCondition(absl::Time now);
  void ReportRole();

  const NodeContext& context_;
  std::atomic<uint32_t> bits_{0};  // NodeStanding
  membership::Role reported_role_ = membership::Role::kOutside;
  bool reported_serves_ = false;
  Conditions conditions_;
  membership::Condition condition_ = membership::Condition::kUnknown;
  absl::Time since_;  // counted until then
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_STANDING_BOARD_H_
