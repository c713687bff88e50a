// A heap's content on its way to a node that joins, as the core sees it.
#ifndef KAMINO_REPLICA_STATE_COPY_H_
#define KAMINO_REPLICA_STATE_COPY_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "kamino/internal/v1/chain.pb.h"

namespace kamino::replica {

// What state transfers of this node came to, as either side.
struct TransferStats {
  bool sending = false;    // the heap to a node that joins
  bool receiving = false;  // the heap, as one that joins
  uint64_t bytes = 0;      // of this transfer so far, zeros included
  uint64_t begun = 0;      // transfers
  uint64_t damaged = 0;    // chunks that were turned down
};

// Not thread-safe. Nothing of the heap is under way between two calls: no
// operation is half executed.
class StateCopy {
 public:
  virtual ~StateCopy() = default;

  // --- At the tail.

  // From here on what changes is remembered.
  virtual void BeginSending() = 0;
  // Before the last chunks: what was stored so far and not flushed yet, as a
  // head may have, shows from here on.
  virtual void PrepareCut() = 0;
  // Bytes that have to be sent so that the copy is equal to the heap now.
  virtual size_t BytesLeft() const = 0;
  // The next of them; false when there are none.
  virtual bool NextChunk(kamino::internal::v1::StateChunk* chunk) = 0;
  virtual void EndSending() = 0;

  // --- At the node that joins.

  // What the heap held is void from here on, durably.
  virtual void BeginReceiving() = 0;
  // kDataLoss: the chunk is damaged, or lies outside of the heap.
  virtual absl::Status Take(const kamino::internal::v1::StateChunk& chunk) = 0;
  // The heap is the chain's after operation `sequence`, durably, and the ring
  // goes on from there. kDataLoss: it is not a heap.
  virtual absl::Status FinishReceiving(uint64_t sequence) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_COPY_H_
