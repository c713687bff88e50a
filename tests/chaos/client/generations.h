// Names that are given up for new ones after so many operations.
#ifndef KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_
#define KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "tests/chaos/client/workload.h"

namespace kamino::chaos {

// Thread-safe.
class Generations {
 public:
  Generations(std::string prefix, int slots, PartitionLimits limits)
      : prefix_(std::move(prefix)), limits_(limits), slots_(slots) {
    for (int i = 0; i < slots; ++i) Renew(i);
  }

  int slots() const { return static_cast<int>(slots_.size()); }

  // The name that a slot has now, counted as used once more.
  std::string Use(int slot) {
    absl::MutexLock lock(&mutex_);
    if (++slots_[slot].operations > limits_.operations) Renew(slot);
    return Name(slot);
  }

  // An operation on `name` has no outcome.
  void CountUnknown(int slot, const std::string& name) {
    absl::MutexLock lock(&mutex_);
    if (name == Name(slot) && ++slots_[slot].unknown >= limits_.unknown) {
      Renew(slot);
    }
  }

  // Every name there ever was.
  std::vector<std::string> All() const {
    absl::MutexLock lock(&mutex_);
    return all_;
  }

 private:
  struct Slot {
    int generation = -1;
    int operations = 0;
    int unknown = 0;
  };

  std::string Name(int slot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::StrCat(prefix_, "/", slot, "/", slots_[slot].generation);
  }
  void Renew(int slot) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    slots_[slot] = Slot{slots_[slot].generation + 1};
    all_.push_back(Name(slot));
  }

  const std::string prefix_;
  const PartitionLimits limits_;
  mutable absl::Mutex mutex_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> all_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::chaos

#endif  // KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_
