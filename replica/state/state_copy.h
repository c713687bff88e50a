// The transfer of a heap's content to a joining node, as the core sees it.
#ifndef KAMINO_REPLICA_STATE_STATE_COPY_H_
#define KAMINO_REPLICA_STATE_STATE_COPY_H_

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
#include "replica/log/log_ring.h"

namespace kamino::replica {

// Why a joining node receives the whole heap.
enum class WholeHeapFor {
  kNothingHeld,  // it claims no state of the chain
  kHistory,      // unknown here how much of its state the chain has kept
  kChanges,      // unknown here what has changed since
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

// Statistics of this node's state transfers, as either side.
struct TransferStats {
  bool sending = false;    // the heap to a joining node
  bool receiving = false;  // the heap, as a joining node
  uint64_t bytes = 0;      // of this transfer so far, zeros included
  uint64_t begun = 0;      // transfers
  // At the tail: how often the rest was sent since, including this time; and
  // what is left of the heap now.
  uint64_t pass = 0;
  uint64_t bytes_left = 0;
  uint64_t damaged = 0;  // refused for what was received
  // This transfer, or the last one, has only changes; and how many pages those
  // were at its beginning, more may have followed.
  bool of_changes = false;
  uint64_t pages = 0;
  // Begun transfers by content: log entries only, changes only, or the whole
  // heap, by the reason for that.
  uint64_t went_on = 0;
  uint64_t caught_up = 0;
  std::array<uint64_t, kWholeHeapReasons> whole = {};
};

// Not thread-safe. The heap is not torn between two calls: no log entry is
// partly executed.
class StateCopy {
 public:
  // Upper bound of what NextChunk appends.
  static constexpr size_t kMaxChunkBytes = 65u << 10;

  // Runs of pages that a node may ask for by themselves.
  static constexpr size_t kMaxRuns = 4096;

  virtual ~StateCopy() = default;

  // --- At a member: changes are remembered for absent nodes, by mutations. A
  // member that does not do that needs none of it.

  // Remembers changes after mutation `since`: from here on, and by what the
  // ring's entries after it have written, which are applied except for later
  // ones. `since` never goes back.
  virtual void KeepChanges(uint64_t /*since*/, const LogRing& /*ring*/) {}
  // Changes before that are not needed any more.
  virtual void ForgetChangesBefore(uint64_t /*since*/) {}
  virtual void ForgetChanges() {}
  // The changes after mutation `sequence` are known.
  virtual bool KnowsChangesAfter(uint64_t /*sequence*/) const { return false; }

  // --- At the tail.

  // Begins a snapshot: from here on changes are remembered. The chain's last
  // mutation is `sequence`.
  virtual void BeginSending(uint64_t sequence) = 0;
  // The same, only for changes after mutation `after`; requires
  // KnowsChangesAfter. Returns how many pages that are so far.
  virtual uint64_t BeginSendingChanges(uint64_t /*sequence*/,
                                       uint64_t /*after*/) {
    return 0;
  }
  // Then: the joining node also needs these pages. Pages outside the heap are
  // left out.
  virtual void AddWanted(absl::Span<const PageRun> /*runs*/) {}
  // Before the last chunks: stores that were not flushed yet, as a head may
  // have, are visible from here on.
  virtual void PrepareCut() = 0;
  // Heap bytes that must be sent before the copy equals the current heap.
  virtual size_t BytesLeft() const = 0;
  // Appends the next bytes of the snapshot to `chunk`, less than
  // kMaxChunkBytes. Returns how many heap bytes they stand for; 0: none are
  // left.
  virtual size_t NextChunk(std::string* chunk) = 0;
  // BytesLeft() is 0. Appends the end: the heap after mutation `sequence`.
  // EndSending follows.
  virtual void FinishSending(uint64_t sequence, std::string* chunk) = 0;
  // Whether or not the snapshot is finished.
  virtual void EndSending() = 0;

  // --- At the joining node.

  // The heap's content is void from here on, durably.
  virtual void BeginReceiving() = 0;
  // The same, but content up to mutation `after` stays, as only later changes
  // will arrive. Returns other pages that are needed: those of later entries
  // that this node has executed, or part of. After an error, which says why the
  // whole heap is needed, nothing is void.
  virtual absl::StatusOr<std::vector<PageRun>> BeginReceivingChanges(
      uint64_t /*after*/) {
    return absl::UnimplementedError("it takes whole heaps only");
  }
  struct Taken {
    size_t bytes = 0;  // of the heap
    // The mutation after which the heap is the chain's; once everything has
    // arrived.
    std::optional<uint64_t> end;
  };
  // Takes the next bytes of the snapshot. Errors: they are not the bytes sent,
  // or not of a heap like this one; nothing of a damaged part was stored.
  virtual absl::StatusOr<Taken> Take(absl::string_view chunk) = 0;
  // The heap is the chain's after mutation `sequence`, and the ring continues
  // from there. Until the node's record is updated, a crash may leave a heap
  // that must be received again. kDataLoss: it is not a heap.
  virtual absl::Status FinishReceiving(uint64_t sequence) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_STATE_COPY_H_
