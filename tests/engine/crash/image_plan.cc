#include "tests/engine/crash/image_plan.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace kamino::engine::crash {
namespace {

class Planner {
 public:
  Planner(const std::vector<uint8_t>& outcomes, size_t most,
          std::mt19937_64* random)
      : outcomes_(outcomes), most_(most), random_(*random) {}

  std::vector<Picks> Exhaustive() {
    Picks picks(outcomes_.size(), 0);
    for (;;) {
      plans_.push_back(picks);
      size_t i = 0;
      while (i < picks.size() && picks[i] == outcomes_[i]) picks[i++] = 0;
      if (i == picks.size()) return std::move(plans_);
      ++picks[i];
    }
  }

  std::vector<Picks> Sampled() {
    const size_t n = outcomes_.size();
    const Picks none(n, 0);
    Add(none);
    Add(Picks(n, 1));
    // A third of the room for each of these, the rest for random subsets.
    const size_t share = std::max<size_t>(1, most_ / 4);
    for (size_t i : Some(share)) {
      Picks alone = none;
      alone[i] = AnyOutcome(i);
      Add(alone);
    }
    for (size_t i : Some(share)) {
      Picks but_one(n, 1);
      but_one[i] = 0;
      Add(but_one);
    }
    for (size_t i : Some(share / 2)) {
      Picks pair = none;
      pair[i] = AnyOutcome(i);
      const size_t other = random_() % n;
      pair[other] = AnyOutcome(other);
      Add(pair);
    }
    constexpr uint64_t kPercent[] = {50, 90, 10};
    for (size_t tries = 0; plans_.size() < most_ && tries < 2 * most_;
         ++tries) {
      Picks subset = none;
      for (size_t i = 0; i < n; ++i) {
        if (random_() % 100 < kPercent[tries % 3]) subset[i] = AnyOutcome(i);
      }
      Add(subset);
    }
    return std::move(plans_);
  }

 private:
  void Add(const Picks& picks) {
    if (plans_.size() < most_ && seen_.insert(picks).second) {
      plans_.push_back(picks);
    }
  }
  uint8_t AnyOutcome(size_t i) {
    return static_cast<uint8_t>(1 + random_() % outcomes_[i]);
  }
  // Up to `count` pieces, in any order.
  std::vector<size_t> Some(size_t count) {
    std::vector<size_t> all(outcomes_.size());
    std::iota(all.begin(), all.end(), 0);
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::min(count, all.size()));
    return all;
  }

  const std::vector<uint8_t>& outcomes_;
  const size_t most_;
  std::mt19937_64& random_;
  std::vector<Picks> plans_;
  std::set<Picks> seen_;
};

}  // namespace

std::vector<Picks> PlanImages(const std::vector<uint8_t>& outcomes,
                              size_t exhaustive, size_t most,
                              std::mt19937_64* random) {
  size_t combinations = 1;
  for (uint8_t count : outcomes) {
    combinations *= count + 1;
    if (combinations > exhaustive) break;
  }
  Planner planner(outcomes, most, random);
  return combinations <= exhaustive ? planner.Exhaustive() : planner.Sampled();
}

}  // namespace kamino::engine::crash
