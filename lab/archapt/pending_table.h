// Flushes that are still to be made, or were skipped. Volatile.
//
// A flush that a commit put off is pending until a thread makes it, or until
// the object's matrix is sealed. The table knows all objects with a pending
// flush, and all objects of matrices.
#ifndef KAMINO_LAB_ARCHAPT_PENDING_TABLE_H_
#define KAMINO_LAB_ARCHAPT_PENDING_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "engine/transaction.h"
#include "lab/archapt/access_queue.h"
#include "lab/archapt/line_ranges.h"

namespace kamino::engine {

struct LiveMatrix;

using ObjectIds = absl::InlinedVector<ObjectId, 2>;

// A transaction that is committed logically, and not physically yet.
struct PendingCommit {
  // One of the flushes that it waits for is durable, or was skipped. What this
  // thread did before is seen by a thread that sees all done.
  void FlushDone() { outstanding.fetch_sub(1, std::memory_order_release); }
  bool all_done() const {
    return outstanding.load(std::memory_order_acquire) == 0;
  }

  uint64_t sequence = 0;
  uint64_t transaction = 0;  // of the undo ring
  // Objects whose flush is pending, and one for the next Advance, which has
  // the headers to flush.
  std::atomic<size_t> outstanding{0};
  absl::InlinedVector<Access, 2> objects;
  ObjectIds headers;  // of blocks that it has changed
  ObjectIds freed;
};

// Where an object is that has left the queue with its flush pending.
enum class MatrixState : uint8_t {
  kNone,
  kWaiting,  // for others, with which it will make a matrix
  kSealing,  // its sums are being made: no transaction may store to it
  kSealed,   // as kSealing, until its matrix is dissolved
};

// Has the size of a line.
struct alignas(64) ObjectEntry {
  ObjectId id = kNullObject;
  uint32_t bytes = 0;  // of the payload
  MatrixState state = MatrixState::kNone;
  // The commit whose flush is pending; null: none.
  PendingCommit* pending = nullptr;
  LiveMatrix* matrix = nullptr;  // of one that is being sealed, or is
  ObjectEntry* next = nullptr;   // in the table's bucket
  // Lines that are not flushed: pending, or, in a sealed matrix, skipped.
  LineRanges lines;
};

// Not thread-safe, but for MayHave.
class PendingTable {
 public:
  // Sized for about this many bytes of pending objects.
  explicit PendingTable(uint64_t queue_bytes);
  PendingTable(const PendingTable&) = delete;
  PendingTable& operator=(const PendingTable&) = delete;

  // False: it is certain that nothing is pending for that object and that it is
  // in no matrix, as of when it was last unlocked.
  bool MayHave(ObjectId id) const {
    return BucketOf(id).load(std::memory_order_relaxed) != nullptr;
  }
  // Null: nothing is pending, nor is it in a matrix.
  ObjectEntry* Find(ObjectId id) const {
    ObjectEntry* entry = BucketOf(id).load(std::memory_order_relaxed);
    while (entry != nullptr && entry->id != id) entry = entry->next;
    return entry;
  }

  // The object's flush is pending for this commit. The table had it not.
  void SetPending(const Access& object, PendingCommit* commit,
                  LineRanges lines);
  // The flush is no longer pending, and the object does not wait; the table
  // forgets it. Returns the lines to flush.
  LineRanges TakePending(ObjectEntry* entry);

  // It has left the queue, at this time or number, which never falls.
  void Wait(ObjectEntry* entry, uint64_t now);
  // One that waits since then, or for longer; null: none does.
  ObjectEntry* WaitsSince(uint64_t then) const;
  // Takes `count` waiting objects of similar size, which become kSealing; none:
  // too few wait.
  std::vector<ObjectEntry*> TakeWaiting(size_t count);
  // Its matrix is sealed, so nothing is pending any more.
  void Seal(ObjectEntry* entry);
  // Its matrix is dissolved: that was all to know of it.
  void Unseal(ObjectEntry* entry) { Erase(entry); }

 private:
  using Bucket = std::atomic<ObjectEntry*>;

  static constexpr size_t kSizes = 32;

  Bucket& BucketOf(ObjectId id) const {
    return buckets_[(id >> 6) * 0x9e3779b97f4a7c15ull >> bucket_shift_];
  }
  static size_t SizeOf(const ObjectEntry& entry);

  void StopWaiting(ObjectEntry* entry);
  void Erase(ObjectEntry* entry);

  // Shifts an object's hash to its bucket.
  const int bucket_shift_;
  const std::unique_ptr<Bucket[]> buckets_;
  std::deque<ObjectEntry> pool_;
  std::vector<ObjectEntry*> spare_;
  // Waiting objects by the power of two of their lines, the longest wait first.
  struct Waiting {
    ObjectEntry* entry;
    uint64_t since;
  };
  std::array<std::vector<Waiting>, kSizes> waiting_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_PENDING_TABLE_H_
