// Snapshots of a node's heap (docs/design/open_snapshots.md): reads of one
// moment that continue while the chain does.
#ifndef KAMINO_NODE_DRIVER_NODE_SNAPSHOTS_H_
#define KAMINO_NODE_DRIVER_NODE_SNAPSHOTS_H_

#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/key_scope.h"
#include "engine/heap/open_snapshots.h"
#include "node/driver/chain_context.h"
#include "node/driver/node_reads.h"

namespace kamino::node {

// Core thread only.
class NodeSnapshots {
 public:
  // Both outlive this.
  NodeSnapshots(ChainContext* context, const NodeReads* reads)
      : context_(*context), reads_(*reads) {}

  struct Opened {
    uint64_t id = 0;
    uint64_t sequence = 0;  // of the last mutation in it
  };
  // `while_restoring`: also objects of an unfinished restore, which are
  // otherwise refused (REASON_RESTORING). Requires that this node may serve
  // reads as the tail: so everything acknowledged before is in it. Errors: as
  // NodeReads::Read's; kResourceExhausted.
  absl::StatusOr<Opened> Open(bool while_restoring = false);
  // Independent of the node's place meanwhile. kAborted: the snapshot has
  // ended; kNotFound: it is closed. `scope`: as NodeReads::Read's.
  absl::Status Read(const KeyScope* scope, uint64_t id, Reading read);
  void Close(uint64_t id);
  engine::OpenSnapshotsStats stats() const {
    return context_.snapshots.stats();
  }

 private:
  ChainContext& context_;
  const NodeReads& reads_;
  std::map<uint64_t, std::unique_ptr<engine::Snapshot>> held_;
  uint64_t last_ = 0;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_SNAPSHOTS_H_
