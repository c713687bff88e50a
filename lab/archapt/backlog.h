// The state of an Archapt store that is not durable in place: logical commits,
// their pending flushes, and matrices. They refer to each other, so that one
// mutex guards all of it. It is held for a few objects at a time: transactions
// wait for it.
#ifndef KAMINO_LAB_ARCHAPT_BACKLOG_H_
#define KAMINO_LAB_ARCHAPT_BACKLOG_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "engine/explore.h"
#include "lab/archapt/commit_list.h"
#include "lab/archapt/live_matrices.h"
#include "lab/archapt/pending_table.h"

namespace kamino::engine {

// Number of objects, or of commits, which are cheaper, that a thread handles
// before it releases the mutex.
inline constexpr size_t kObjectsAtATime = 8;
inline constexpr size_t kCommitsAtATime = 64;

struct ArchaptStats {
  uint64_t flushed_lines =
      0;  // of objects, without flushes that a caller required
  uint64_t replaced_lines = 0;  // not flushed, as the next to store logged them
  uint64_t skipped_lines = 0;
  uint64_t matrices = 0;   // sealed
  uint64_t dissolved = 0;  // of those
  uint64_t sums_lines = 0;
};

struct Backlog {
  // `last` and `given`: as CommitList takes them.
  Backlog(uint64_t queue_bytes, uint64_t last, uint64_t given,
          std::vector<size_t> free_slots)
      : pending(queue_bytes),
        commits(last, given),
        matrices(std::move(free_slots)) {}

  mutable Mutex mutex;
  PendingTable pending;  // guarded by it, but for MayHave
  CommitList commits;    // the same, but for last()
  LiveMatrices matrices ABSL_GUARDED_BY(mutex);
  ArchaptStats stats ABSL_GUARDED_BY(mutex);
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_BACKLOG_H_
