// The words of REWIND's log that change in place. Each has a check of its own
// (../checked_word.h), seeded with the heap's uuid, folded, xor its offset: one
// bit that flips would make an older record count again, or hide a newer one.
// 0 has one, too, for a line that a medium gives as zeros would hide eight.
// Plain ones are the numbers themselves: release 0.1.0's.
#ifndef KAMINO_LAB_REWIND_CHECKED_WORDS_H_
#define KAMINO_LAB_REWIND_CHECKED_WORDS_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/baselines/checked_word.h"
#include "engine/pmem/region.h"
#include "glog/logging.h"

namespace kamino::engine {

// A value. Thread-safe, as far as each word is one thread's.
class CheckedWords {
 public:
  // `region` must outlive this. `seed`: LogSeed().
  CheckedWords(Region* region, uint64_t seed, bool checked = true)
      : region_(region), seed_(seed), checked_(checked) {}

  Region* region() const { return region_; }
  std::byte* At(uint64_t offset) const { return region_->base() + offset; }
  uint64_t* WordAt(uint64_t offset) const {
    return reinterpret_cast<uint64_t*>(At(offset));
  }
  uint64_t OffsetOf(const uint64_t* word) const {
    return reinterpret_cast<const std::byte*>(word) - region_->base();
  }

  // This process must have stored the word, or read it.
  uint64_t Get(const uint64_t* word) const {
    return checked_ ? NumberIn(*word) : *word;
  }
  // `number` at most kMostChecked. It is not flushed.
  void Store(uint64_t* word, uint64_t number) const {
    DCHECK(!checked_ || number <= kMostChecked) << number;
    __atomic_store_n(
        word,
        checked_ ? MakeCheckedAlways(number, seed_ ^ OffsetOf(word)) : number,
        __ATOMIC_RELAXED);
  }
  void Flush(const uint64_t* word) const {
    region_->Flush(word, sizeof(*word));
  }
  void Persist(uint64_t* word, uint64_t number) const {
    Store(word, number);
    region_->Persist(word, sizeof(*word));
  }

  // Recovery. kDataLoss: damaged.
  absl::StatusOr<uint64_t> Read(const uint64_t* word) const;

 private:
  Region* region_;
  uint64_t seed_;
  bool checked_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_CHECKED_WORDS_H_
