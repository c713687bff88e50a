// Random transactions, a few at a time, some of them large, under random power
// failures: recovery finds every committed transaction whole and no other one,
// and the log can still be used for an abort. For schemes on kamino's heap.
#ifndef KAMINO_TESTS_ENGINE_RANDOM_CRASHES_H_
#define KAMINO_TESTS_ENGINE_RANDOM_CRASHES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "engine/heap/heap.h"
#include "engine/pmem/sim_region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// A store and its memory.
class CrashSubject {
 public:
  virtual ~CrashSubject() = default;

  virtual std::vector<SimRegion*> regions() = 0;
  // Another subject on the images of a crash, not recovered yet.
  virtual std::unique_ptr<CrashSubject> After(
      const std::vector<SimRegion::Image>& images) const = 0;
  virtual absl::Status Recover() = 0;

  virtual Heap& heap() = 0;
  virtual std::unique_ptr<Transaction> Begin() = 0;
  // Work beside transactions; before each step.
  virtual void Pass(std::mt19937_64&) {}
  // The options of the next commit, without before_mark.
  virtual CommitOptions NextCommit(std::mt19937_64&) { return {}; }
};

struct CrashLoad {
  uint64_t seed = 1;
  int steps = 0;
  uint64_t crash_percent = 0;  // of the drains
  size_t objects = 0;          // at the most, some few more than needed
  uint32_t large = 0;          // bytes of the largest
};

struct CrashCounts {
  int crashes = 0;
  int in_commit = 0;  // of them, within a Commit
  int commits = 0;

  CrashCounts& operator+=(const CrashCounts& other);
};

// Fails the test, fatally, with the violation.
CrashCounts RunRandomCrashes(CrashSubject* subject, const CrashLoad& load);

}  // namespace kamino::engine

#endif  // KAMINO_TESTS_ENGINE_RANDOM_CRASHES_H_
