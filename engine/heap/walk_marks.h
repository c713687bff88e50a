// Marks: starts of blocks, for a thread that walks the heap piece by piece
// while it is in use (engine/kamino/range_walk.h). When a block becomes part of
// a larger one, its mark moves to the start of that.
//
// Thread-safe. While the heap is tiled anew (Reset), no thread may walk it.
#ifndef KAMINO_ENGINE_HEAP_WALK_MARKS_H_
#define KAMINO_ENGINE_HEAP_WALK_MARKS_H_

#include <array>
#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "engine/explore.h"
#include "engine/transaction.h"

namespace kamino::engine {

class WalkMarks {
 public:
  static constexpr size_t kMarks = 2;

  // All at the first block.
  explicit WalkMarks(ObjectId first) { marks_.fill(first); }

  // `id` must be the start of a block.
  void Set(size_t which, ObjectId id) {
    MutexLock lock(&mutex_);
    marks_[which] = id;
  }
  ObjectId Get(size_t which) const {
    MutexLock lock(&mutex_);
    return marks_[which];
  }

  // The blocks in [start, end) become one.
  void Merge(ObjectId start, ObjectId end) {
    MutexLock lock(&mutex_);
    for (ObjectId& mark : marks_) {
      if (mark > start && mark < end) mark = start;
    }
  }
  void Reset(ObjectId first) {
    MutexLock lock(&mutex_);
    marks_.fill(first);
  }

 private:
  mutable Mutex mutex_;
  std::array<ObjectId, kMarks> marks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_HEAP_WALK_MARKS_H_
