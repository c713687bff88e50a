#include "lab/controller/simulation.h"

#include <vector>

#include "gtest/gtest.h"
#include "lab/controller/synthetic.h"

namespace kamino::bench::controller {
namespace {

RunOptions OptionsOf(Method method) {
  RunOptions options;
  options.method = method;
  options.warm = {WarmArray()};
  return options;
}

RunResult RunOf(const Trace& trace, const RunOptions& options) {
  const auto result = Simulate(trace, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

// Figure 6 of the paper: 100 wraps of 20 stores each, "less than half the
// number of log writes".
TEST(SimulationTest, CountsMatchThePaper) {
  const Trace trace = ArrayUpdates(1, 100, 20, 1);

  const RunResult cached = RunOf(trace, OptionsOf(Method::kCached));
  EXPECT_EQ(cached.controller.scm.writes, 0u);
  EXPECT_EQ(cached.cores.fences, 0u);

  const RunResult non_atomic = RunOf(trace, OptionsOf(Method::kNonAtomic));
  EXPECT_EQ(non_atomic.cores.fences, 100u);
  EXPECT_EQ(non_atomic.controller.scm.writes, 2000u);
  EXPECT_EQ(non_atomic.controller.log.writes, 0u);

  const RunResult undo = RunOf(trace, OptionsOf(Method::kUndo));
  EXPECT_EQ(undo.cores.fences, 4000u);
  EXPECT_EQ(undo.controller.scm.writes, 2000u);
  EXPECT_EQ(undo.controller.log.writes, 2000u);

  const RunResult wrap = RunOf(trace, OptionsOf(Method::kWrap));
  EXPECT_EQ(wrap.cores.fences, 100u);
  EXPECT_EQ(wrap.controller.log.writes, 600u);
  EXPECT_EQ(wrap.controller.log.reads, 600u);
  EXPECT_EQ(wrap.controller.scm.writes, 2000u);
  EXPECT_EQ(wrap.controller.retired, 100u);
  EXPECT_EQ(wrap.cores.misses, 0u);
}

TEST(SimulationTest, ARunIsReproducible) {
  const Trace trace = RandomTrace(4, 50, 20, 100, 1);
  for (Method method : kMethods) {
    const RunResult first = RunOf(trace, OptionsOf(method));
    const RunResult second = RunOf(trace, OptionsOf(method));
    ASSERT_EQ(first.pieces.size(), 200u);
    for (size_t i = 0; i < first.pieces.size(); ++i) {
      EXPECT_EQ(first.pieces[i].responded, second.pieces[i].responded);
      EXPECT_EQ(first.pieces[i].completed, second.pieces[i].completed);
    }
  }
}

TEST(SimulationTest, PiecesBeginWhenTheyArrive) {
  RunOptions options = OptionsOf(Method::kWrap);
  options.interval = 10 * kMicrosecond;
  const RunResult result = RunOf(ArrayUpdates(1, 10, 20, 1), options);
  ASSERT_EQ(result.pieces.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(result.pieces[i].arrived, i * 10 * kMicrosecond);
    EXPECT_GT(result.pieces[i].responded, result.pieces[i].arrived);
    EXPECT_GT(result.pieces[i].completed, result.pieces[i].responded);
  }
  EXPECT_LT(result.MeanResponse(), 10);
}

// With two open wraps at most the third waits until the first has retired.
TEST(SimulationTest, WrapsWaitForAFreeId) {
  RunOptions options = OptionsOf(Method::kWrap);
  options.machine.open_wraps = 2;
  const RunResult result = RunOf(ArrayUpdates(1, 10, 20, 1), options);
  EXPECT_EQ(result.controller.most_open, 2u);
  EXPECT_GT(result.controller.refused, 0u);
  for (size_t i = 2; i < 10; ++i) {
    EXPECT_GT(result.pieces[i].responded, result.pieces[i - 2].completed);
  }
  options.machine.open_wraps = 128;
  EXPECT_EQ(RunOf(ArrayUpdates(1, 10, 20, 1), options).controller.refused, 0u);
}

// A log that is longer than what is read ahead.
TEST(SimulationTest, LongWrapsRetire) {
  const RunResult result =
      RunOf(ArrayUpdates(2, 3, 1000, 1), OptionsOf(Method::kWrap));
  EXPECT_EQ(result.controller.retired, 6u);
  EXPECT_EQ(result.controller.log.reads, 6 * 251u);
}

TEST(SimulationTest, WrapsThatStoreNothingRetire) {
  Trace trace;
  trace.threads = {{{EventKind::kOpen}, {EventKind::kClose}}};
  EXPECT_EQ(RunOf(trace, OptionsOf(Method::kWrap)).controller.retired, 1u);
  trace.threads = {{}};
  EXPECT_TRUE(RunOf(trace, OptionsOf(Method::kWrap)).pieces.empty());
}

TEST(SimulationTest, OrdinaryStoresTakeTheSameTimeInEveryMethod) {
  const Trace trace = MixedGroups(20, 0, 1);
  const Time time = RunOf(trace, OptionsOf(Method::kCached)).responded;
  EXPECT_GT(time, 0u);
  for (Method method : kMethods) {
    EXPECT_EQ(RunOf(trace, OptionsOf(method)).responded, time);
  }
}

// A flush of an ordinary line ends in the victim cache, whichever core waits
// for it.
TEST(SimulationTest, WrapFlushesStopAtTheVictimCache) {
  Trace trace;
  trace.threads = {{{EventKind::kStore, 8, 64},
                    {EventKind::kFlush, 8, 64},
                    {EventKind::kDrain}}};
  EXPECT_EQ(RunOf(trace, OptionsOf(Method::kNonAtomic)).controller.scm.writes,
            1u);
  const RunResult wrap = RunOf(trace, OptionsOf(Method::kWrap));
  EXPECT_EQ(wrap.controller.scm.writes, 0u);
  EXPECT_EQ(wrap.controller.victims.put, 1u);
}

// Section 3.2 assumes that no line has both kinds of variables. Where one has,
// what retires takes an ordinary store with it.
TEST(SimulationTest, OrdinaryWordsBesideTransactionalOnesAreLost) {
  RunOptions options;
  options.check = true;
  options.machine.l3 = {1, 1, 40};
  Trace trace;
  trace.threads = {{{EventKind::kStore, 8, 8},
                    {EventKind::kOpen},
                    {EventKind::kStore, 8, 0},
                    {EventKind::kLoad, 8, 640},
                    {EventKind::kClose},
                    {EventKind::kCompute, 100'000}}};
  options.machine.victims = VictimForm::kHashed;
  EXPECT_EQ(Simulate(trace, options).status().code(),
            absl::StatusCode::kInternal);
  trace.threads[0][0].address = 128;
  EXPECT_TRUE(Simulate(trace, options).ok());
}

TEST(SimulationTest, AnInvalidTraceIsRejected) {
  Trace trace;
  trace.threads = {{{EventKind::kClose}}};
  EXPECT_EQ(Simulate(trace, RunOptions()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Slower memory is slower, and never by more than its factor.
TEST(SimulationTest, SlowerMemoryTakesLonger) {
  const Trace trace = ArrayUpdates(2, 100, 20, 3);
  for (Method method : {Method::kNonAtomic, Method::kUndo, Method::kUndoGrouped,
                        Method::kWrap}) {
    Time before = 0;
    for (uint32_t slowdown : {1, 2, 4, 8}) {
      RunOptions options = OptionsOf(method);
      options.machine.scm_slowdown = slowdown;
      const Time time = RunOf(trace, options).responded;
      EXPECT_GT(time, before);
      EXPECT_TRUE(before == 0 || time <= 2 * before);
      before = time;
    }
  }
}

}  // namespace
}  // namespace kamino::bench::controller
