// The branches that the explorer has reached (engine/explore.h): the engine's,
// and those of schemes outside it that register theirs.
#ifndef KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
#define KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/explore.h"

namespace kamino::engine::crash {

// Where reached branches count. Work on images after their recovery counts
// nowhere: no crash is explored there.
enum class Counting { kNowhere, kStore, kRecovery };

// The branches of one enumeration, counted while a store is explored and while
// images are recovered.
class BranchSet {
 public:
  struct Line {
    const char* name;
    bool of_recovery;
    uint64_t by_store;
    uint64_t by_recovery;
  };

  virtual ~BranchSet() = default;
  virtual void Count(Counting counting) = 0;
  virtual void Forget() = 0;
  virtual std::vector<Line> Lines() const = 0;
  virtual void AppendStoreCounts(std::vector<uint64_t>* counts) const = 0;
};

template <typename Branches>
class BranchesOf final : public BranchSet {
 public:
  // The branches from `first_of_recovery` on are recovery's.
  BranchesOf(std::vector<const char*> names, Branches first_of_recovery)
      : names_(std::move(names)),
        first_of_recovery_(static_cast<size_t>(first_of_recovery)) {}

  void Count(Counting counting) override {
    branch_counts<Branches> = counting == Counting::kStore      ? &store_
                              : counting == Counting::kRecovery ? &recovery_
                                                                : nullptr;
  }
  void Forget() override {
    for (auto& count : store_) count = 0;
    for (auto& count : recovery_) count = 0;
  }
  std::vector<Line> Lines() const override {
    std::vector<Line> lines;
    for (size_t i = 0; i < names_.size(); ++i) {
      lines.push_back({names_[i], i >= first_of_recovery_, store_[i].load(),
                       recovery_[i].load()});
    }
    return lines;
  }
  void AppendStoreCounts(std::vector<uint64_t>* counts) const override {
    for (const auto& count : store_) counts->push_back(count.load());
  }

 private:
  const std::vector<const char*> names_;
  const size_t first_of_recovery_;
  BranchCounts<Branches> store_{};
  BranchCounts<Branches> recovery_{};
};

// Adds branches when the program starts. `branches` lives as long as it.
class LinkedBranches {
 public:
  explicit LinkedBranches(BranchSet* branches);
};

// Returns where they counted before.
Counting CountBranches(Counting counting);
void ForgetReached();
std::vector<BranchSet::Line> ReachedLines();
// How often each was reached while a store was explored.
void StoreCounts(std::vector<uint64_t>* counts);

// Names of those that were not reached.
std::vector<std::string> NotReached();
// A line for each branch.
std::string ReachedReport();

}  // namespace kamino::engine::crash

#endif  // KAMINO_TESTS_ENGINE_CRASH_COVERAGE_H_
