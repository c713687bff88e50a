// A heap's content on its way to a node that joins, as the core sees it.
#ifndef KAMINO_REPLICA_STATE_COPY_H_
#define KAMINO_REPLICA_STATE_COPY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "replica/log_ring.h"

namespace kamino::replica {

// Why a node that joins is sent the whole heap.
enum class WholeHeapFor {
  kNothingHeld,  // it says of no state of the chain that it has it
  kHistory,      // it is not known here how much of that the chain has kept
  kChanges,      // nor what has changed since
};
inline constexpr size_t kWholeHeapReasons = 3;
constexpr absl::string_view NameOf(WholeHeapFor reason) {
  switch (reason) {
    case WholeHeapFor::kNothingHeld:
      return "nothing_held";
    case WholeHeapFor::kHistory:
      return "history_unknown";
    case WholeHeapFor::kChanges:
      return "changes_unknown";
  }
  return "";
}

// Consecutive pages of a heap, of engine::PageSet::kPageBytes.
struct PageRun {
  uint64_t first = 0;
  uint64_t count = 0;
};

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
  // This transfer, or the last one, is of what changed alone; and how many
  // pages that were when it was begun, more may have followed.
  bool of_changes = false;
  uint64_t pages = 0;
  // Of those that begun, by what they were of: log entries alone, changes
  // alone, or the whole heap, by the reason for that.
  uint64_t went_on = 0;
  uint64_t caught_up = 0;
  std::array<uint64_t, kWholeHeapReasons> whole = {};
};

// Not thread-safe. Nothing of the heap is under way between two calls: no
// log entry is half executed.
class StateCopy {
 public:
  // Of what NextChunk appends, less.
  static constexpr size_t kMaxChunkBytes = 65u << 10;

  // Runs of pages that a node may ask for by themselves.
  static constexpr size_t kMaxRuns = 4096;

  virtual ~StateCopy() = default;

  // --- At a member: what changes is remembered for those who are away, from
  // mutations on. One that does not do that needs none of it.

  // What is executed after mutation `since` is remembered, from here on and by
  // what the ring's entries after it have written, which are applied but for
  // those that come yet. `since` never goes back.
  virtual void KeepChanges(uint64_t /*since*/, const LogRing& /*ring*/) {}
  // Nobody asks for what changed before that any more.
  virtual void ForgetChangesBefore(uint64_t /*since*/) {}
  virtual void ForgetChanges() {}
  // What changed after mutation `sequence` is known.
  virtual bool KnowsChangesAfter(uint64_t /*sequence*/) const { return false; }

  // --- At the tail.

  // A snapshot is begun: from here on what changes is remembered. The chain's
  // last mutation is `sequence`.
  virtual void BeginSending(uint64_t sequence) = 0;
  // The same, of what changed after mutation `after` alone; KnowsChangesAfter
  // it. Returns how many pages that are so far.
  virtual uint64_t BeginSendingChanges(uint64_t /*sequence*/,
                                       uint64_t /*after*/) {
    return 0;
  }
  // Then: the joining node needs these as well. Those that are none of the heap
  // are left out.
  virtual void AddWanted(absl::Span<const PageRun> /*runs*/) {}
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
  // The same, but what came to be by mutation `after` is to stay, as only what
  // changed since will come. Returns the pages that are needed besides: of
  // entries beyond it that this node has executed, or part of. Nothing is void
  // after an error, which says why the whole heap is needed.
  virtual absl::StatusOr<std::vector<PageRun>> BeginReceivingChanges(
      uint64_t /*after*/) {
    return absl::UnimplementedError("it takes whole heaps only");
  }
  struct Taken {
    size_t bytes = 0;  // of the heap
    // After which mutation the heap is the chain's; once all has come.
    std::optional<uint64_t> end;
  };
  // The next bytes of the snapshot. Errors: they are not what was sent, or of
  // no heap like this one; nothing of a damaged part was stored.
  virtual absl::StatusOr<Taken> Take(absl::string_view chunk) = 0;
  // The heap is the chain's after mutation `sequence`, and the ring goes on
  // from there. A crash may leave a heap that has to be received again, until
  // the node's record is updated. kDataLoss: it is not a heap.
  virtual absl::Status FinishReceiving(uint64_t sequence) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_COPY_H_
