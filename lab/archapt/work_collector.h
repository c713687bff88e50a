// Decides what an Advance of an Archapt store has to do: follows in a queue
// what the cache is believed to hold, and takes from the backlog the objects
// that have left it, as flushes or as columns of matrices.
#ifndef KAMINO_LAB_ARCHAPT_WORK_COLLECTOR_H_
#define KAMINO_LAB_ARCHAPT_WORK_COLLECTOR_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "lab/archapt/access_queue.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/line_ranges.h"
#include "lab/archapt/live_matrices.h"
#include "lab/archapt/matrix_keeper.h"
#include "lab/archapt/pending_table.h"

namespace kamino::engine {

struct AdvanceWork {
  struct Flush {
    ObjectId id = kNullObject;
    uint32_t bytes = 0;
    LineRanges lines;
    PendingCommit* commit = nullptr;
  };
  std::vector<Flush> flushes;
  std::vector<PendingCommit*> commits;  // new ones, whose headers are to flush
  std::vector<LiveMatrix*> sealing;
};

// Collect and Tick are one thread's at a time; the rest is thread-safe.
class WorkCollector {
 public:
  // Takes the commits from here on. All must outlive this.
  WorkCollector(const ArchaptOptions& options, const Heap* heap,
                Backlog* backlog, MatrixKeeper* matrices);

  // Notes a read.
  void Note(const Access& access) { notes_.Add(access); }
  // Sequence of the newest commit whose objects are in the queue.
  uint64_t queued() const { return queued_.load(); }
  // Whether there are commits or reads that the queue does not have yet.
  bool has_news() const {
    return backlog_.commits.last() != queued() || !notes_.empty();
  }

  // An Advance: the time that ArchaptOptions::matrix_wait counts.
  void Tick() { ++advances_; }
  // Replaces `work`. All commits up to `force_to` are to be flushed.
  void Collect(uint64_t force_to, AdvanceWork* work);

 private:
  // All that was committed and read since the last time.
  void TakeAccesses(AdvanceWork* work);
  void TakeCommits(AdvanceWork* work);
  void TakeForced(uint64_t force_to, AdvanceWork* work);
  // Calls `take`, with the backlog's mutex held, with each of these objects
  // whose flush is pending and that neither waits for a matrix nor is in one.
  void ForEachPending(absl::Span<const ObjectId> ids,
                      absl::FunctionRef<void(ObjectEntry* entry)> take);
  // It has fallen out of the queue.
  void Leave(ObjectEntry* entry, AdvanceWork* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(backlog_.mutex);
  void TakeFlush(ObjectEntry* entry, AdvanceWork* work)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(backlog_.mutex);
  // Whether a matrix saves flushes.
  bool Gains(const ObjectEntry& entry) const;
  void StartSealings(AdvanceWork* work);
  // Flushes objects that have waited for too long.
  void FlushOverdue(AdvanceWork* work);

  const ArchaptOptions options_;
  const Heap& heap_;
  Backlog& backlog_;
  MatrixKeeper& matrices_;

  AccessNotes notes_;
  AccessQueue queue_;
  std::atomic<uint64_t> queued_;
  uint64_t advances_ = 0;
  // Space that each Collect uses again.
  std::vector<Access> accesses_;
  std::vector<ObjectId> ids_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_WORK_COLLECTOR_H_
