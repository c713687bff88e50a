// Archapt's estimate of the cache (section 3.2): the objects that were accessed
// last, as many as there is room for. An object that falls out at the back is
// taken to be evicted. Volatile.
#ifndef KAMINO_LAB_ARCHAPT_ACCESS_QUEUE_H_
#define KAMINO_LAB_ARCHAPT_ACCESS_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/transaction.h"

namespace kamino::engine {

// An object that a transaction has accessed.
struct Access {
  ObjectId id = kNullObject;
  uint32_t bytes = 0;  // of the payload
};

// Not thread-safe.
class AccessQueue {
 public:
  explicit AccessQueue(uint64_t bytes) : limit_(bytes) {}

  void Touch(const Access& access);
  // Takes the one accessed longest ago out, if all are more than the cache
  // holds; else null.
  ObjectId TakeOverflow();
  void Remove(ObjectId id);

  uint64_t bytes() const { return bytes_; }  // whole lines

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Entry {
    ObjectId id = kNullObject;
    uint32_t lines = 0;
    // From the one accessed last.
    uint32_t newer = kNone;
    uint32_t older = kNone;
  };

  void Link(uint32_t at);
  void Unlink(uint32_t at);

  const uint64_t limit_;
  uint64_t bytes_ = 0;
  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;
  absl::flat_hash_map<ObjectId, uint32_t> places_;
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
};

// Accesses on their way to the queue. Several of one object between two Takes
// are noted once, mostly; of many the oldest are dropped. Thread-safe, but for
// Take, which is one thread's at a time.
class AccessNotes {
 public:
  void Add(const Access& access);
  bool empty() const {
    return head_.load(std::memory_order_relaxed) ==
           tail_.load(std::memory_order_relaxed);
  }
  // Replaces what is there, oldest first.
  void Take(std::vector<Access>* accesses);

 private:
  static constexpr size_t kNotes = 4096;
  static constexpr int kRecentShift = 64 - 12;
  // A note: an id in lines, which its objects begin with, and their number.
  static constexpr int kLinesBits = 20;
  static_assert(kMaxObjectBytes / 64 + 1 < 1 << kLinesBits);

  std::array<std::atomic<uint64_t>, kNotes> notes_{};
  // The latest notes: ids, with bits of takes_.
  std::array<std::atomic<uint64_t>, 1 << 12> recent_{};
  std::atomic<uint64_t> takes_{1};
  alignas(64) std::atomic<uint64_t> head_{0};
  alignas(64) std::atomic<uint64_t> tail_{0};
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_ACCESS_QUEUE_H_
