// Archapt's work beside transactions: objects that have been accessed move in
// the queue; those that fall out are put into matrices, or flushed; what can be
// is committed physically.
#ifndef KAMINO_LAB_ARCHAPT_ADVANCER_H_
#define KAMINO_LAB_ARCHAPT_ADVANCER_H_

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/explore.h"
#include "engine/transaction.h"
#include "lab/archapt/access_queue.h"
#include "lab/archapt/archapt_media.h"
#include "lab/archapt/archapt_options.h"
#include "lab/archapt/backlog.h"
#include "lab/archapt/commit_list.h"
#include "lab/archapt/durable_progress.h"
#include "lab/archapt/matrix_keeper.h"
#include "lab/archapt/work_collector.h"

namespace kamino::engine {

// Thread-safe: one thread advances at a time, and the others wait for it.
class Advancer {
 public:
  // Interval at which a waiting thread checks whether Force helps by now.
  static constexpr absl::Duration kForceAgain = absl::Milliseconds(1);

  // All must outlive this.
  Advancer(const ArchaptOptions& options, ArchaptMedia* media, Backlog* backlog,
           MatrixKeeper* matrices, DurableProgress* progress);

  void Advance();
  // Whether there is something to do.
  bool WantsAdvance() const;
  // Advances, if no other thread does and there is too much to do.
  void AdvanceIfLate();
  // All up to this sequence are flushed if they have to be.
  void Force(uint64_t sequence);
  // The older half of the backlog's commits.
  void ForceHalf() { Force(Middle()); }
  // Waits until a pass of another thread has ended.
  void AwaitPass() { MutexLock work(&work_mutex_); }

  // Notes a read. Not needed while nothing is pending: later accesses push an
  // object out of the queue.
  void Note(const Access& access) {
    if (progress_.durable() < backlog_.commits.last()) collector_.Note(access);
  }

 private:
  uint64_t Middle() const;
  // A pass.
  void AdvanceTo(uint64_t force_to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  void Carry(const AdvanceWork& work);
  void Finish(const AdvanceWork& work);
  void CommitPhysically() ABSL_EXCLUSIVE_LOCKS_REQUIRED(work_mutex_);
  PendingCommits TakeReady();
  void ClearLost(absl::Span<const ObjectId> freed);

  ArchaptMedia& media_;
  Backlog& backlog_;
  MatrixKeeper& matrices_;
  DurableProgress& progress_;

  // Held by the thread that advances; taken before the backlog's.
  Mutex work_mutex_;
  WorkCollector collector_;  // collects with it held
  // The last pass's work; its space is used again.
  AdvanceWork work_ ABSL_GUARDED_BY(work_mutex_);
  std::atomic<bool> advancing_{false};
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ADVANCER_H_
