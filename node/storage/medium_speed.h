// What a sync of a node's medium takes, and what follows from it: a chain on
// disks is as fast as these take syncs, and a node whose steps take long cannot
// keep its lease.
#ifndef KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_
#define KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "engine/pmem/region.h"

namespace kamino::node {

// Syncs that a put of an existing key waits for, one after the other.
// tests/node/driver/ordered_syncs_test.cc counts them.
struct OrderedSyncs {
  int head = 0;
  int replica = 0;  // at each of the others

  // Of a chain of so many nodes.
  int InChain(int nodes) const { return head + (nodes - 1) * replica; }
};
OrderedSyncs OrderedSyncsOf(ChainMode mode, UndoCopyKind undo_copy);

// The median of a few syncs of one page, whose content stays as it is.
absl::Duration MeasureSync(engine::Region* region,
                           const std::function<absl::Time()>& clock);

// For the log; empty for memory, where a commit takes microseconds.
std::string TellMedium(absl::Duration sync, const OrderedSyncs& ordered);

// kFailedPrecondition: the syncs of one commit take a half of a lease or more.
absl::Status CheckMedium(absl::Duration sync, const OrderedSyncs& ordered,
                         absl::Duration lease);

}  // namespace kamino::node

#endif  // KAMINO_NODE_STORAGE_MEDIUM_SPEED_H_
