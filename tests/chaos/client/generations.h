// Names that are given up for new ones as time passes.
#ifndef KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_
#define KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "tests/chaos/client/history_log.h"

namespace kamino::chaos {

// A partition of a history is checked by itself; the checker's work grows with
// its length and fast with what is concurrent, which an operation of unknown
// outcome is for ever. So a register, a bank or a list is given up for a new
// one after a while, and read once more at the end. All clients of a machine
// change at the same moment, by its clock, without a word to each other.
// Thread-safe.
class Generations {
 public:
  Generations(std::string prefix, int slots, absl::Duration lasts)
      : prefix_(std::move(prefix)), slots_(slots), lasts_(lasts) {}

  int slots() const { return slots_; }

  // The name that a slot has now.
  std::string Use(int slot) {
    const int64_t generation =
        MonotonicNanos() / absl::ToInt64Nanoseconds(lasts_);
    std::string name = absl::StrCat(prefix_, "/", slot, "/", generation);
    absl::MutexLock lock(&mutex_);
    used_.insert(name);
    return name;
  }

  // Every name that was ever used here.
  std::vector<std::string> All() const {
    absl::MutexLock lock(&mutex_);
    return {used_.begin(), used_.end()};
  }

 private:
  const std::string prefix_;
  const int slots_;
  const absl::Duration lasts_;
  mutable absl::Mutex mutex_;
  std::set<std::string> used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace kamino::chaos

#endif  // KAMINO_TESTS_CHAOS_CLIENT_GENERATIONS_H_
