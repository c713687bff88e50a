// A heap's content on its way to a node that joins, as the core sees it.
#ifndef KAMINO_REPLICA_STATE_COPY_H_
#define KAMINO_REPLICA_STATE_COPY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino::replica {

// What state transfers of this node came to, as either side.
struct TransferStats {
  bool sending = false;    // the heap to a node that joins
  bool receiving = false;  // the heap, as one that joins
  uint64_t bytes = 0;      // of this transfer so far, zeros included
  uint64_t begun = 0;      // transfers
  // At the tail: how often what was left was sent since, this time included;
  // and what is left of the heap now.
  uint64_t pass = 0;
  uint64_t bytes_left = 0;
  uint64_t damaged = 0;  // that were turned down for what came
};

// Not thread-safe. Nothing of the heap is under way between two calls: no
// log entry is half executed.
class StateCopy {
 public:
  // Of what NextChunk appends, less.
  static constexpr size_t kMaxChunkBytes = 65u << 10;

  virtual ~StateCopy() = default;

  // --- At the tail.

  // A snapshot is begun: from here on what changes is remembered. The chain's
  // last mutation is `sequence`.
  virtual void BeginSending(uint64_t sequence) = 0;
  // Before the last chunks: what was stored so far and not flushed yet, as a
  // head may have, shows from here on.
  virtual void PrepareCut() = 0;
  // Bytes of the heap that have to be sent so that the copy is equal to it now.
  virtual size_t BytesLeft() const = 0;
  // Appends the next bytes of the snapshot to `chunk`, less than
  // kMaxChunkBytes. Returns how many of the heap's they stand for; 0: none are
  // left.
  virtual size_t NextChunk(std::string* chunk) = 0;
  // Nothing is left: BytesLeft() is 0. Appends the end: this is the heap after
  // mutation `sequence`. EndSending follows.
  virtual void FinishSending(uint64_t sequence, std::string* chunk) = 0;
  // Whether or not the snapshot is finished.
  virtual void EndSending() = 0;

  // --- At the node that joins.

  // What the heap held is void from here on, durably.
  virtual void BeginReceiving() = 0;
  struct Taken {
    size_t bytes = 0;  // of the heap
    // After which mutation the heap is the chain's; once all has come.
    std::optional<uint64_t> end;
  };
  // The next bytes of the snapshot. Errors: they are not what was sent, or of
  // no heap like this one; nothing of a damaged part was stored.
  virtual absl::StatusOr<Taken> Take(absl::string_view chunk) = 0;
  // The heap is the chain's after mutation `sequence`, durably, and the ring
  // goes on from there. kDataLoss: it is not a heap.
  virtual absl::Status FinishReceiving(uint64_t sequence) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_COPY_H_
