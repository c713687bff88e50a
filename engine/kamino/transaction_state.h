// The declarations and locks of a transaction. It outlives the transaction
// until the locks are released, and the thread's next transaction uses it
// again, so that a transaction allocates no memory. Private to the store.
#ifndef KAMINO_ENGINE_KAMINO_TRANSACTION_STATE_H_
#define KAMINO_ENGINE_KAMINO_TRANSACTION_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "engine/kamino/commit_log.h"
#include "engine/kamino/lock_table.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Bytes that are not initialized.
class ByteBuffer {
 public:
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  // Null at first.
  std::byte* data() { return reinterpret_cast<std::byte*>(data_.get()); }
  const std::byte* data() const {
    return reinterpret_cast<const std::byte*>(data_.get());
  }
  void clear() { size_ = 0; }
  // Keeps the content.
  void resize(size_t size) {
    if (size > capacity_) Grow(size);
    size_ = size;
  }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };

  void Grow(size_t size);

  std::unique_ptr<Line[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

struct TransactionState {
  // An object the transaction has locked.
  struct Object {
    ObjectId id = kNullObject;
    absl::Span<std::byte> payload;  // empty until it is written or allocated
    std::byte* copy = nullptr;      // pinned in the undo copy
    const uint64_t* cleared = nullptr;  // freed: its intent, to be flushed
    int32_t last_range = -1;  // the newest of its ranges, in `ranges`; -1: none
    int32_t read = -1;        // in `reads`; -1: none
    // Allocated: the commit record's hash covers so many bytes from the front;
    // the rest of the payload is zeros, which recovery knows without a hash.
    uint32_t filled = 0;
    bool exclusive = false;
    bool allocated = false;
    bool freed = false;
    bool intended = false;  // its intent is stored, and durable after a drain
    // Allocated: false while the payload still has old content. It must be
    // zeroed before a read, unless its one range covers it.
    bool zeroed = true;
    bool deferred = false;  // some of its ranges are
  };
  // The processor stalls when more stores follow a fence than its store queue
  // holds, so a transaction must begin with few stores.
  static_assert(sizeof(Object) <= 64);

  // For IntentCheck: an object that was only read, and the hash of its payload
  // then.
  struct FirstRead {
    absl::Span<const std::byte> payload;
    uint64_t hash = 0;
  };

  // A declared range. Its intent's kind tells how its bytes are treated.
  struct Range {
    Intent intent;
    uint32_t object = 0;    // in objects
    int32_t previous = -1;  // range of the same object
    bool deferred = false;  // to be copied from `bytes` to the heap
    bool flushed = false;   // durable with the next drain
    bool hashed = false;    // its bytes are final
    uint64_t hash = 0;
    int64_t kept = -1;  // place of its words in `bytes`; or -1
  };

  LockTable::Owner owner = 0;
  uint64_t sequence = 0;
  std::vector<Range> ranges;  // in the order of their declaration
  std::vector<Object> objects;
  std::vector<FirstRead> reads;
  absl::flat_hash_map<ObjectId, size_t> index;  // of objects, once many
  ByteBuffer bytes;  // current or future content of ranges

  // Over an undo log: so many ranges are in it, durably, or need not be; and
  // the announced ranges of future Writes, the next one last.
  size_t saved = 0;
  WriteSet foreseen;
  WriteSet unsaved;  // while being saved

  RecordImage record;
  CommitLog::Claim claim;
  bool claimed = false;
  bool held = false;  // by hold_locks

  Object* Find(ObjectId id);
  Object& Add(ObjectId id);
  // The intents of the ranges; valid until the next range is declared.
  const WriteSet& write_set();
  // Resets all but the memory.
  void Clear();

  // A cleared state of this thread.
  static std::unique_ptr<TransactionState> Take();
  static void Recycle(std::unique_ptr<TransactionState> state);

 private:
  WriteSet declared_;  // the intents of the first ranges
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_TRANSACTION_STATE_H_
