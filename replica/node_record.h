// What a node remembers of itself besides its data, in the header page of its
// ring (docs/log_entry.md).
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_NODE_RECORD_H_
#define KAMINO_REPLICA_NODE_RECORD_H_

#include <cstdint>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "membership/condition.h"

namespace kamino::replica {

struct NodeState {
  // Grows with each start of the process; begins at a random number, so that no
  // two heaps of one node share one.
  uint64_t incarnation = 0;
  uint64_t view_id = 0;  // the newest view this node was in; 0: none
  // kFresh, kReceiving or kBehind; or kSound: it held all that was
  // acknowledged when it was last known to, and a restart may have interrupted
  // it since.
  membership::Condition condition = membership::Condition::kFresh;
  // It executes as head since: what it had not committed is rolled back from
  // its own backup (Kamino-Tx, section 5.3).
  bool was_head = false;
};

class NodeRecord {
 public:
  // In the ring's region, which must outlive the record; past the header of the
  // ring itself.
  static constexpr size_t kOffset = 1024;

  explicit NodeRecord(engine::Region* ring_region) : region_(ring_region) {}

  // Durable on return; whatever was there is forgotten.
  void Create(const NodeState& state);
  // kDataLoss: it cannot be read.
  absl::Status Open();

  const NodeState& state() const { return state_; }
  // Durable on return; one crash leaves either the old or the new state.
  void Update(const NodeState& state);
  // Grows with each Update.
  uint64_t serial() const { return serial_; }

 private:
  void Write(int line);

  engine::Region* const region_;
  NodeState state_;
  uint64_t serial_ = 0;
  int current_line_ = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_NODE_RECORD_H_
