// The transactions of an Archapt store that are committed logically and not
// physically yet. Volatile.
//
// Their sequences ascend without gaps, and they leave in that order (invariant
// 2 of archapt_store.h).
#ifndef KAMINO_LAB_ARCHAPT_COMMIT_LIST_H_
#define KAMINO_LAB_ARCHAPT_COMMIT_LIST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "lab/archapt/access_queue.h"
#include "lab/archapt/line_ranges.h"
#include "lab/archapt/pending_table.h"

namespace kamino::engine {

// A transaction that is to be committed logically.
struct LogicalCommit {
  uint64_t transaction = 0;  // of the undo ring
  struct Object {
    Access object;
    LineRanges lines;  // stored to and not flushed
  };
  absl::InlinedVector<Object, 2> objects;
  ObjectIds headers;  // stored and not flushed
  ObjectIds freed;
};

using PendingCommits = std::vector<std::unique_ptr<PendingCommit>>;

// Not thread-safe, but for last().
class CommitList {
 public:
  // `last`: sequence of the last physical commit. New ones are larger than that
  // and than `given`.
  CommitList(uint64_t last, uint64_t given) : given_(given), last_(last) {}

  // Adds a transaction, and to the table the objects whose flush it puts off.
  // Returns its sequence.
  uint64_t Append(LogicalCommit logical, PendingTable* pending);

  // Sequence of the newest commit, be it here or not.
  uint64_t last() const { return last_.load(); }
  bool empty() const { return commits_.empty(); }
  // Sequence of the oldest one. Not of an empty list.
  uint64_t first() const { return commits_.front()->sequence; }
  // The one in the middle; 0: there is none.
  uint64_t middle() const;
  // first() <= sequence <= last().
  PendingCommit* At(uint64_t sequence) const {
    return commits_[sequence - first()].get();
  }

  // Whether the oldest one can be committed physically.
  bool HasReady() const {
    return !commits_.empty() && commits_.front()->all_done();
  }
  // Moves those that can be to the end of `ready`, but `most` at a time. False:
  // no more can be.
  bool TakeReady(size_t most, PendingCommits* ready);
  // These are committed physically, and the blocks that they freed are free.
  void Recycle(PendingCommits commits);

  // Blocks that are freed, but not physically.
  size_t freed_blocks() const { return freed_blocks_; }

 private:
  std::unique_ptr<PendingCommit> TakeSpare();

  const uint64_t given_;
  std::atomic<uint64_t> last_;
  std::deque<std::unique_ptr<PendingCommit>> commits_;
  PendingCommits spare_;  // to be used again
  size_t freed_blocks_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_COMMIT_LIST_H_
