// A node's heap, as the core compares it with others. In a node it is a
// HeapRanges, in tests of the protocol a list.
#ifndef KAMINO_REPLICA_STATE_SCRUBBED_HEAP_H_
#define KAMINO_REPLICA_STATE_SCRUBBED_HEAP_H_

#include <cstdint>

#include "engine/transaction.h"
#include "replica/state/range_states.h"
#include "replica/state/scrub_record.h"

namespace kamino::replica {

// Not thread-safe.
class ScrubbedHeap {
 public:
  virtual ~ScrubbedHeap() = default;

  // The size by which ranges are numbered.
  virtual uint64_t range_bytes() const = 0;
  virtual uint64_t RangeOf(engine::ObjectId id) const = 0;

  // Searches the start of that range for about a millisecond; true once it is
  // found.
  virtual bool Reach(uint64_t range) = 0;
  // The digest of the objects in a range that was just reached; not 0. Nodes
  // that have executed the same operations have the same.
  virtual uint64_t Digest(uint64_t range) = 0;

  virtual RangeStates* range_states() = 0;
  const RangeStates* range_states() const {
    return const_cast<ScrubbedHeap*>(this)->range_states();
  }
  virtual ScrubRecord* record() = 0;
  const ScrubRecord* record() const {
    return const_cast<ScrubbedHeap*>(this)->record();
  }

  // An object is written, or a neighbour's bytes are stored to it.
  void OnWritten(engine::ObjectId id) {
    range_states()->OnWritten(RangeOf(id));
  }
  void OnBorrowed(engine::ObjectId id) {
    range_states()->OnBorrowed(RangeOf(id));
  }
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_SCRUBBED_HEAP_H_
