// Replaces this node's data: a joining node receives the tail's (Joiner), and a
// node whose data is of no use discards it.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CORE_STATE_REPLACEMENT_H_
#define KAMINO_REPLICA_CORE_STATE_REPLACEMENT_H_

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/core/chain_parts.h"
#include "replica/core/log_parts.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/place.h"
#include "replica/log/node_record.h"

namespace kamino::replica {

// The heap's data, now or after a transfer, is of this view's cluster and
// epoch.
void TakeOrigin(const Place& place, NodeState* state);

class StateReplacement {
 public:
  // `chain` and all pointers must outlive it.
  StateReplacement(const ChainContext& chain, LinkParts* links, DataParts* data,
                   LogParts* log)
      : chain_(chain), links_(links), data_(data), log_(log) {}

  // A message of the transfer, from the tail.
  void OnMessage(LinkId link, const kamino::internal::v1::ChainMessage& message,
                 absl::Time now);
  // This node's data is unusable: it must receive the chain's state anew.
  void Discard();

 private:
  // The heap begins to receive another state. Logs the data that is lost, if it
  // is of an earlier epoch.
  void OnHeapVoid();
  // Suspicions about the old data no longer count.
  void ForgetSuspicions();

  const ChainContext& chain_;
  LinkParts* const links_;
  DataParts* const data_;
  LogParts* const log_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_STATE_REPLACEMENT_H_
