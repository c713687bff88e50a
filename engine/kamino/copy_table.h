// The copies that a dynamic undo copy has: where each lies, whether it is in
// use, and which ones to evict. Volatile. Private to the undo copy.
//
// A thread that holds an object's lock pins the object's copy without a mutex,
// in most cases: a pinned copy stays where it is.
//
// Invariants:
//   1. The state of a copy has pins, or says that it is evicted, not both.
//   2. A copy that is used again, for another object, has another generation.
//      So a thread cannot pin it by a state that it read before.
#ifndef KAMINO_ENGINE_KAMINO_COPY_TABLE_H_
#define KAMINO_ENGINE_KAMINO_COPY_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/prefetch.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Only one thread at a time may call functions on one object's copy, unless
// stated otherwise.
class CopyTable {
 public:
  struct Place {
    uint64_t block = 0;  // offset of the bytes in the undo copy
    uint64_t units = 0;
  };

  class alignas(32) Copy {
   public:
    ObjectId id() const { return id_.load(std::memory_order_relaxed); }
    const Place& place() const { return place_; }
    bool evicted() const { return (state_.load() & kEvicted) != 0; }
    bool dropped() const { return (state_.load() & kDropped) != 0; }

    // It is not evicted, and the caller's mutex keeps it so.
    void Pin();
    // The state is that of another object's copy, or evicted: false.
    bool PinAs(ObjectId id);
    // It has a pin.
    void Unpin();
    // Its object is gone, so that it is not evicted.
    void Drop() { state_.fetch_or(kDropped); }

   private:
    friend class CopyTable;

    // Bits of the state.
    static constexpr uint64_t kPins = (1u << 24) - 1;
    static constexpr uint64_t kRecent = 1u << 24;  // since the clock's hand
    static constexpr uint64_t kEvicted = 1u << 25;
    static constexpr uint64_t kDropped = 1u << 26;
    static constexpr uint64_t kGeneration = uint64_t{1} << 32;  // and above

    std::atomic<ObjectId> id_{kNullObject};  // null: not in use
    Place place_;
    std::atomic<uint64_t> state_{kEvicted};
  };

  // For copies of `units` in total.
  explicit CopyTable(uint64_t units);

  // --- Without the caller's mutex.

  // The object's copy, with one more pin. Null: Find tells.
  Copy* TryPin(ObjectId id);
  // False: Find tells.
  bool TryUnpin(ObjectId id);
  // Loads what both read first into the cache.
  void Prefetch(ObjectId id) const { PrefetchToRead(&FrontOf(id)); }

  // --- With the caller's mutex, which protects the rest.

  // Null if there is none.
  Copy* Find(ObjectId id);
  // The object has none.
  Copy* Insert(ObjectId id, const Place& place, bool pinned);
  void Erase(Copy* copy);
  // Marks copies of at least `units` in total as evicted, or all it can, by the
  // CLOCK algorithm. Erase ends their eviction.
  std::vector<Copy*> MarkVictims(uint64_t units);

 private:
  // Looked up first. A way is a copy's address and 16 bits of a hash of its id,
  // or 0. A set is a cache line.
  struct alignas(64) FrontSet {
    std::atomic<uint64_t> ways[8] = {};
  };
  static constexpr int kTagShift = 48;

  static uint64_t HashOf(ObjectId id) {
    return (id >> 6) * 0x9e3779b97f4a7c15ull;
  }
  static uint64_t TagOf(ObjectId id) { return (HashOf(id) >> 8) << kTagShift; }
  static Copy* CopyAt(uint64_t way) {
    return reinterpret_cast<Copy*>(way & ((uint64_t{1} << kTagShift) - 1));
  }
  FrontSet& FrontOf(ObjectId id) const {
    return front_[HashOf(id) >> front_shift_];
  }
  void EnterFront(ObjectId id, Copy* copy);
  void LeaveFront(const Copy* copy);
  // False: it stays.
  bool MarkVictim(Copy* copy);

  const int front_shift_;
  const std::unique_ptr<FrontSet[]> front_;

  absl::flat_hash_map<ObjectId, Copy*> copies_;
  std::deque<Copy> all_;  // the clock's face, and the memory of all copies
  std::vector<Copy*> unused_;
  size_t hand_ = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_COPY_TABLE_H_
