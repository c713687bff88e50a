// What Archapt believes of the cache (section 3.2), and which flushes are still
// to be made. All of it is volatile.
//
// An object that is accessed goes to the front of a queue as long as the cache;
// what falls out at the back is taken to be evicted. A flush that a commit put
// off is pending until somebody makes it, or until the object's matrix is
// sealed.
#ifndef KAMINO_ENGINE_BASELINES_ARCHAPT_HISTORY_H_
#define KAMINO_ENGINE_BASELINES_ARCHAPT_HISTORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "engine/transaction.h"

namespace kamino::engine {

struct LiveMatrix;

// Lines of an object: [first, end).
struct LineRange {
  uint32_t first = 0;
  uint32_t end = 0;
};
// Ascending, with lines between them.
using LineRanges = absl::InlinedVector<LineRange, 2>;
// Of ranges in any order, which may overlap.
LineRanges MergeRanges(LineRanges ranges);
uint64_t CountLines(const LineRanges& ranges);

// A transaction that is committed logically, and not physically yet.
struct PendingCommit {
  uint64_t sequence = 0;
  uint64_t transaction = 0;  // of the undo ring
  // Objects whose flush is pending, and headers of blocks, as one.
  size_t outstanding = 0;
  std::vector<ObjectId> objects;
  std::vector<ObjectId> headers;  // of blocks that it has changed
  std::vector<ObjectId> freed;
};

// Where an object is that has left the queue with its flush pending.
enum class MatrixState {
  kNone,
  kWaiting,  // for others, with which it will make a matrix
  kSealing,  // its sums are being made: nobody may store to it
  kSealed,   // nobody may store to it before its matrix is dissolved
};

struct ObjectEntry {
  ObjectId id = kNullObject;
  uint32_t bytes = 0;  // of the payload
  // Whose flush is pending; null: nobody's.
  PendingCommit* pending = nullptr;
  // That are not flushed: pending, or, of a sealed one, skipped.
  LineRanges lines;
  MatrixState state = MatrixState::kNone;
  LiveMatrix* matrix = nullptr;  // of one that is sealed
  // The queue, from the one accessed last.
  bool queued = false;
  ObjectEntry* newer = nullptr;
  ObjectEntry* older = nullptr;

  bool marked() const {
    return pending != nullptr || state != MatrixState::kNone;
  }
};

// Not thread-safe, but for MayBeMarked and MayBePending.
class History {
 public:
  explicit History(uint64_t queue_bytes);
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // False: it is certain that nothing is pending for that object and that it is
  // in no matrix, as of when it was last unlocked.
  bool MayBeMarked(ObjectId id) const {
    return marks_[MarkOf(id)].load(std::memory_order_relaxed) != 0;
  }
  // The same of what is pending alone.
  bool MayBePending(ObjectId id) const {
    return pending_[MarkOf(id)].load(std::memory_order_relaxed) != 0;
  }

  ObjectEntry* Find(ObjectId id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : found->second.get();
  }

  // It has been accessed.
  void Touch(ObjectId id, uint32_t bytes);
  // Takes the one accessed longest ago out of the queue, if that is longer than
  // the cache; null: it is not.
  ObjectEntry* TakeOverflow();

  // The object's flush is pending for this commit. It was for no other.
  void SetPending(ObjectId id, uint32_t bytes, PendingCommit* commit,
                  LineRanges lines);
  // It is not any more, nor does the object wait.
  void TakePending(ObjectEntry* entry, LineRanges* lines);

  // It has left the queue.
  void Wait(ObjectEntry* entry);
  // So many that wait, of similar size; none: there are not as many.
  std::vector<ObjectEntry*> TakeWaiting(size_t count);
  void SetState(ObjectEntry* entry, MatrixState state, LiveMatrix* matrix);
  // Its matrix is sealed, so nothing is pending any more.
  void Skip(ObjectEntry* entry);

  // It is freed, or nothing is left to know of it.
  void Forget(ObjectId id);
  void Tidy(ObjectEntry* entry) {
    if (!entry->queued && !entry->marked()) entries_.erase(entry->id);
  }

  uint64_t queued_bytes() const { return queued_bytes_; }

 private:
  using Marks = std::unique_ptr<std::atomic<uint32_t>[]>;

  static constexpr size_t kSizes = 32;

  size_t MarkOf(ObjectId id) const {
    return (id >> 6) * 0x9e3779b97f4a7c15ull >> mark_shift_;
  }
  static size_t SizeOf(const ObjectEntry& entry);

  ObjectEntry* Get(ObjectId id);
  void Unlink(ObjectEntry* entry);
  void StopWaiting(ObjectEntry* entry);
  // Around a change of what marked() goes by.
  void Count(const ObjectEntry& entry, int by);

  const uint64_t queue_bytes_;
  absl::flat_hash_map<ObjectId, std::unique_ptr<ObjectEntry>> entries_;
  ObjectEntry* newest_ = nullptr;
  ObjectEntry* oldest_ = nullptr;
  uint64_t queued_bytes_ = 0;
  // By the power of two that their lines come to.
  std::array<std::vector<ObjectEntry*>, kSizes> waiting_;
  // How many entries are marked, of the objects that hash to it; and how many
  // are pending.
  const int mark_shift_;
  const Marks marks_;
  const Marks pending_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_BASELINES_ARCHAPT_HISTORY_H_
