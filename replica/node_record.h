// What a node remembers of itself besides its data, in the header page of its
// ring (docs/formats/log_entry.md).
//
// There are two versions, written in turn, and two copies of each: the second
// one is written when the first one is durable. So a crash leaves the version
// before whole, and of the new one the first copy torn or the second one old.
// One copy that can't be read is made good by the other. Where both are gone,
// the version before is not taken instead: what this node has said since would
// be forgotten.
//
// Not thread-safe.
#ifndef KAMINO_REPLICA_NODE_RECORD_H_
#define KAMINO_REPLICA_NODE_RECORD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "engine/pmem/region.h"
#include "membership/condition.h"
#include "replica/request_identity.h"

namespace kamino::replica {

using Uuid = std::array<uint8_t, 16>;  // all zero: none
// Its bytes; "" for none.
std::string BytesOf(const Uuid& uuid);
Uuid UuidFrom(const std::string& bytes);  // of 16; none for others

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
  // It executes the chain's log entries since so that it can take them back by
  // itself (replica/local_undo.h): what is not marked applied is.
  bool local_undo = false;
  // What the node's regions are known by to be of one age
  // (docs/formats/stamp.md). next_nonce: while they get the next one; else 0.
  uint64_t nonce = 0;
  uint64_t next_nonce = 0;
  // The first mutation of an entry that its execution came to something else of
  // than the head's did (replica/dispute.h); 0: there is none. And whether it
  // came to its end at all.
  uint64_t disputed = 0;
  bool disputed_whole = false;
  // The first mutation of an interrupted entry that it executes again, as it
  // is head now; 0: there is none.
  uint64_t redone = 0;
  // What it executes, being the whole chain, while it is on probation
  // (replica/announcements.h).
  RequestIdentity announced = {};
  // Starts of its process since one that ran for long or ended in order, this
  // one not counted; and whether it has ended in order.
  uint32_t restarts = 0;
  bool ended_in_order = false;
  // What the heap holds has an id, by which the chain knows it for what was a
  // member: another one each time the node joins anew, so that a copy of its
  // files of before is never taken for those it has now.
  Uuid heap_id = {};
  // What the heap holds is of that cluster and recovery epoch; none and 0 while
  // it was never in a chain (membership/view.h).
  Uuid cluster_uuid = {};
  uint64_t epoch = 0;
  // Which boot of the machine it was started in; 0: not known.
  uint64_t boot = 0;
  // In that view it is the whole chain.
  bool alone = false;
  uint64_t view_digest = 0;  // of view_id; 0: not known
};

class NodeRecord {
 public:
  // In the ring's region, which must outlive the record; past the header of the
  // ring itself.
  explicit NodeRecord(engine::Region* ring_region) : region_(ring_region) {}

  // Durable on return; whatever was there is forgotten.
  void Create(const NodeState& state);
  // Makes good what only one copy has. kDataLoss: it cannot be read.
  absl::Status Open();

  const NodeState& state() const { return state_; }
  // Durable on return; one crash leaves either the old or the new state.
  void Update(const NodeState& state);
  // state() is that from here on, and the next Update makes it durable with its
  // own. Update calls `before` first, which makes durable the other data that
  // `state` describes. A crash before that leaves the old state.
  void UpdateLater(const NodeState& state, std::function<void()> before);
  // Whether a crash leaves state().
  bool durable() const { return before_update_ == nullptr; }
  // Grows with each Update.
  uint64_t serial() const { return serial_; }

 private:
  // Both copies of that version.
  void Write(int version);

  engine::Region* const region_;
  NodeState state_;
  std::function<void()> before_update_;  // null: all of state_ is durable
  uint64_t serial_ = 0;
  int current_ = 0;  // the version that counts
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_NODE_RECORD_H_
