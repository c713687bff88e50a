// How far this node's log entries have come: applied here, completed by the
// whole chain, cleaned everywhere. Each step makes the next one possible:
//
//   a node applies entries       makes that durable; may have caught up, or be
//                                confirmed after its restart
//   the tail has applied them    they are complete; the tail owes the head a
//                                completion, and cleans its ring
//   a ring is cleaned            the predecessor's may be
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_CHAIN_PROGRESS_H_
#define KAMINO_REPLICA_CORE_CHAIN_PROGRESS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "replica/core/answer_wait.h"
#include "replica/core/chain_parts.h"
#include "replica/link/chain_context.h"
#include "replica/repair/catch_up_history.h"

namespace kamino::replica {

class ChainProgress {
 public:
  // `chain` and all pointers must outlive it.
  ChainProgress(const ChainContext& chain, LinkParts* links, DataParts* data,
                CatchUpHistory* history)
      : chain_(chain), links_(links), data_(data), history_(history) {}

  // At the head: the last mutation that the whole chain has applied.
  uint64_t completed() const { return links_->completions.completed(); }
  // A mutation up to which the whole chain has applied everything, as far as
  // this node knows. The next mutation always gets a higher number.
  uint64_t settled() const;
  // No node has crashed on mutations up to here: all have applied them.
  uint64_t known_complete() const;

  // More entries are applied.
  void OnApplied();
  // At the tail: applied entries are complete.
  void CompleteAsTail();
  // All nodes have applied everything up to there.
  void CleanTo(uint64_t sequence);
  // Whether a node that was behind has caught up.
  void CheckCaughtUp();
  // Continues if the neighbours have confirmed this node's data.
  void CheckReturned();

  // --- As of the last tick: for how long the successor has acknowledged none
  // of its entries; and for how long the chain has completed nothing that the
  // head has applied.
  absl::Duration append_wait() const { return append_wait_.age(); }
  absl::Duration completion_wait() const { return completion_wait_.age(); }
  void OnTick(absl::Time now);
  // As ChainCore::OnStoodStill.
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout);
  void Leave();  // the view has ended

 private:
  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  CatchUpHistory* const history_;
  AnswerWait append_wait_;
  AnswerWait completion_wait_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_CHAIN_PROGRESS_H_
