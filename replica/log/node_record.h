// A node's persistent record of its own state besides its data, in the header
// page of its ring (docs/formats/log_entry.md).
//
// There are two versions, written in turn, with two copies each. The second
// copy is written when the first one is durable. So a crash leaves the previous
// version whole, and of the new one at worst the first copy torn or the second
// one old. An unreadable copy is restored from the other. If both are gone, the
// previous version is not used instead: statements that the node has made since
// would be lost.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_LOG_NODE_RECORD_H_
#define KAMINO_REPLICA_LOG_NODE_RECORD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "membership/condition.h"
#include "replica/log/request_identity.h"

namespace kamino::replica {

using Uuid = std::array<uint8_t, 16>;  // all zero: none
// Its bytes; "" for none.
std::string BytesOf(const Uuid& uuid);
Uuid UuidFrom(const std::string& bytes);  // of 16 bytes; none for others

struct NodeState {
  // Grows with each start of the process; begins at a random number, so that no
  // two heaps of a node share one.
  uint64_t incarnation = 0;
  uint64_t view_id = 0;  // the newest view this node was in; 0: none
  // kFresh, kReceiving or kBehind; or kSound: at the last check it held
  // everything that was acknowledged, and a restart may have interrupted it
  // since.
  membership::Condition condition = membership::Condition::kFresh;
  // It executes as head: uncommitted operations are rolled back from its own
  // undo copy (Kamino-Tx, section 5.3).
  bool was_head = false;
  // It executes the chain's log entries so that it can roll them back by itself
  // (replica/state/local_undo.h): entries not marked applied are rolled back.
  bool local_undo = false;
  // Shows that the node's regions are of the same age (docs/formats/stamp.md).
  // next_nonce: while they receive the next one; else 0.
  uint64_t nonce = 0;
  uint64_t next_nonce = 0;
  // The first mutation of an entry whose result differs from the head's
  // (replica/integrity/divergence.h); 0: none. And whether its execution came
  // to the end.
  uint64_t disputed = 0;
  bool disputed_whole = false;
  // The first mutation of an interrupted entry that it executes again as head;
  // 0: none.
  uint64_t redone = 0;
  // The request that it executes as the whole chain on probation
  // (replica/link/announcements.h).
  RequestIdentity announced = {};
  // Starts of its process since one that ran for long or stopped as planned,
  // this one not counted; and whether it has stopped as planned.
  uint32_t restarts = 0;
  bool ended_in_order = false;
  // The id of the heap's content, by which the chain knows it for a former
  // member's. Each join makes a new id, so that a stale copy of the node's
  // files never counts as the current one.
  Uuid heap_id = {};
  // The cluster and recovery epoch of the heap's content; none and 0 if it was
  // never in a chain (membership/view.h).
  Uuid cluster_uuid = {};
  uint64_t epoch = 0;
  // The boot of the machine in which it was started; 0: unknown.
  uint64_t boot = 0;
  // In that view it is the whole chain.
  bool alone = false;
  uint64_t view_digest = 0;  // of view_id; 0: unknown
};

class NodeRecord {
 public:
  // In the ring's region, which must outlive the record; behind the ring's own
  // header.
  explicit NodeRecord(engine::Region* ring_region) : region_(ring_region) {}

  // Durable on return; forgets the old record.
  void Create(const NodeState& state);
  // Restores damaged copies. kDataLoss: it cannot be read.
  absl::Status Open();

  const NodeState& state() const { return state_; }
  // Durable on return; one crash leaves either the old or the new state.
  void Update(const NodeState& state);
  // Changes state() now; the next Update makes it durable with its own. Update
  // calls `before` first, which makes durable the other data that `state`
  // describes. A crash before that leaves the old state.
  void UpdateLater(const NodeState& state, std::function<void()> before);
  // Whether a crash leaves state().
  bool durable() const { return before_update_ == nullptr; }
  // Grows with each Update.
  uint64_t serial() const { return serial_; }

 private:
  // Writes both copies of that version.
  void Write(int version);

  engine::Region* const region_;
  NodeState state_;
  std::function<void()> before_update_;  // null: all of state_ is durable
  uint64_t serial_ = 0;
  int current_ = 0;  // the valid version
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LOG_NODE_RECORD_H_
