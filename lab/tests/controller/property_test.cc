// The controller's invariants: Property 1 of the paper, that what neither a
// cache nor the victim cache has is the latest at home; and that home has what
// has retired, and nothing else. Over random traces on small caches, in each of
// the controller's forms; and what happens when something is wrong.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lab/controller/simulation.h"
#include "lab/controller/synthetic.h"
#include "tests/faults/planted.h"

namespace kamino::bench::controller {
namespace {

// Caches of a few lines, so that most of what is stored is let go of before
// its wrap closes.
Machine SmallMachine(VictimForm form, ReleaseForm rule) {
  Machine machine;
  machine.l1 = {1, 1, 4};
  machine.l2 = {1, 2, 10};
  machine.l3 = {2, 2, 40};
  machine.victims = form;
  machine.release = rule;
  machine.victim_cache = {2, 2, 10};
  machine.open_wraps = 6;
  return machine;
}

struct Looked {
  absl::Status status;
  uint64_t released = 0;
  uint64_t written_home = 0;
  uint64_t overflowed = 0;
};

Looked LookAt(uint64_t seed, VictimForm form, ReleaseForm rule) {
  RunOptions options;
  options.machine = SmallMachine(form, rule);
  options.machine.retired_together = 1 + seed % 3;
  options.machine.scm_slowdown = 1 << (seed % 4);
  options.interval = seed % 2 == 0 ? 0 : kMicrosecond;
  options.check = true;
  const int threads = 1 + static_cast<int>(seed % 4);
  const Trace trace = RandomTrace(threads, /*wraps=*/40, /*most_stores=*/12,
                                  /*lines=*/24, seed);
  Looked looked;
  const auto result = Simulate(trace, options);
  looked.status = result.status();
  if (!result.ok()) return looked;
  const VictimCounts& counts = result->controller.victims;
  looked.released = counts.released;
  looked.written_home = counts.written_home;
  looked.overflowed = counts.overflowed;
  EXPECT_EQ(result->controller.retired, 40u * threads);
  // Nothing stays in the victim cache for ever, not even lines that were
  // released while a wrap retired.
  EXPECT_EQ(counts.released, counts.put);
  return looked;
}

constexpr VictimForm kForms[] = {VictimForm::kSetAssociative,
                                 VictimForm::kHashed};
constexpr ReleaseForm kRules[] = {ReleaseForm::kWatermark,
                                  ReleaseForm::kDependenceSets};

TEST(PropertyTest, HoldsForRandomTraces) {
  for (VictimForm form : kForms) {
    for (ReleaseForm rule : kRules) {
      Looked sum;
      for (uint64_t seed = 1; seed <= 60; ++seed) {
        const Looked looked = LookAt(seed, form, rule);
        ASSERT_TRUE(looked.status.ok()) << seed << looked.status;
        sum.released += looked.released;
        sum.written_home += looked.written_home;
        sum.overflowed += looked.overflowed;
      }
      // There was something to go wrong.
      EXPECT_GT(sum.released, 10'000u);
      EXPECT_GT(sum.written_home, 1'000u);
      EXPECT_TRUE(form == VictimForm::kHashed || sum.overflowed > 500);
    }
  }
}

// By one of the traces.
bool IsDetected(const std::string& fault, VictimForm form) {
  faults::Planted planted(fault);
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const Looked looked = LookAt(seed, form, ReleaseForm::kWatermark);
    if (looked.status.code() == absl::StatusCode::kInternal) return true;
  }
  return false;
}

TEST(PropertyTest, PlantedFaultsAreDetected) {
  for (VictimForm form : kForms) {
    for (const char* fault :
         {"watermark-off-by-one", "wrap-retired-line-not-clean",
          "wrap-miss-past-victims"}) {
      EXPECT_TRUE(IsDetected(fault, form)) << fault;
    }
  }
}

// Both rules, on the machine: the same lines at the same time, so that all
// times are the same.
TEST(PropertyTest, BothReleaseRulesGiveTheSameRun) {
  for (VictimForm form : kForms) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      std::vector<LineNumber> released[2];
      std::vector<Time> times[2];
      for (int i = 0; i < 2; ++i) {
        RunOptions options;
        options.machine = SmallMachine(form, kRules[i]);
        options.released = [&](LineNumber line) {
          released[i].push_back(line);
        };
        const auto result = Simulate(RandomTrace(3, 40, 12, 24, seed), options);
        ASSERT_TRUE(result.ok());
        for (const Piece& piece : result->pieces) {
          times[i].push_back(piece.responded);
          times[i].push_back(piece.completed);
        }
      }
      ASSERT_EQ(released[0], released[1]) << seed;
      ASSERT_EQ(times[0], times[1]) << seed;
      ASSERT_GT(released[0].size(), 50u);
    }
  }
}

}  // namespace
}  // namespace kamino::bench::controller
