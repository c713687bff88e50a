// Operations that a power cut tore, each case of section 5.3 forced: the cut is
// made at every flush or drain of an operation in turn, and leaves half of its
// stores.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"
#include "gtest/gtest.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/driver/torn_change.h"

namespace kamino::node {
namespace {

using membership::Condition;
using Moment = ChainRig::Moment;

class RestartTest : public ::testing::TestWithParam<std::string> {};

// The predecessor has executed the operation: the node gets it from there.
TEST_P(RestartTest, RollsForwardFromThePredecessor) {
  const std::string victim = GetParam();
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    const Tally tally = AtEachMoment(
        {}, victim, moment, [&](ChainRig& rig, const auto& change) {
          ASSERT_FALSE(rig.up(victim));
          EXPECT_FALSE(change->acknowledged());
          rig.Start(victim);
          ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
          ASSERT_EQ(rig.node(victim).core().soundness().condition(),
                    Condition::kTorn);
          rig.InstallView(rig.names());
          ExpectGoesOn(rig, {change});
        });
    if (HasFailure()) return;
    EXPECT_GT(tally.torn, 0);
    if (moment == Moment::kFlush) {
      EXPECT_GT(tally.partly, 0);
      EXPECT_GT(tally.cuts, 10);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(MiddleAndTail, RestartTest,
                         ::testing::Values("n2", "n3", "n4"),
                         [](const auto& info) { return info.param; });

// The predecessor is gone: the successor, which has not executed the
// operation, says how it was before, and the ring what it is.
TEST(NewHeadTest, RollsBackFromTheSuccessorAndExecutesAgain) {
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    const Tally tally =
        AtEachMoment({}, "n2", moment, [](ChainRig& rig, const auto& change) {
          rig.CutPower("n1", 1);
          EXPECT_EQ(change->answers, 0);
          rig.Start("n2");
          ASSERT_EQ(rig.node("n2").core().soundness().condition(),
                    Condition::kTorn);
          EXPECT_EQ(rig.ring("n2").received(), rig.ring("n3").received() + 1);
          rig.InstallView({"n2", "n3", "n4"});
          rig.Settle();
          // It is there before anyone asks for it again.
          EXPECT_EQ(rig.ring("n4").applied(), rig.tear("n2").received);
          rig.Retry(change);
          ExpectGoesOn(rig, {change});
        });
    if (::testing::Test::HasFailure()) return;
    EXPECT_GT(tally.torn, 0);
    if (moment == Moment::kFlush) {
      EXPECT_GT(tally.partly, 0);
    }
  }
}

// A repair can be interrupted at any moment, and begins anew.
void RepairTwice(const std::vector<std::string>& members, bool head_goes) {
  Tally again;
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    for (int count = 1; count < kMostMoments; ++count) {
      SCOPED_TRACE(count);
      ChainRig rig;
      Prepare(rig);
      const auto change = CutWithinChange(rig, "n2", Moment::kDrain, 1);
      ASSERT_NE(change, nullptr);
      ASSERT_TRUE(rig.tear("n2").torn());
      if (head_goes) rig.CutPower("n1", count);
      rig.Start("n2");
      rig.InstallView(members);
      rig.CutPowerAt("n2", moment, count);
      rig.Settle();
      if (!rig.tear("n2").happened) break;
      again.Add(rig.tear("n2"));
      rig.Start("n2");
      rig.InstallView(members);
      rig.Settle();
      if (head_goes) rig.Retry(change);
      ExpectGoesOn(rig, {change});
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(again.cuts, 5);
  EXPECT_GT(again.torn, 0);
}

TEST(RestartTwiceTest, ForwardRepairBeginsAnew) {
  RepairTwice({"n1", "n2", "n3", "n4"}, false);
}

TEST(RestartTwiceTest, BackwardRepairBeginsAnew) {
  RepairTwice({"n2", "n3", "n4"}, true);
}

struct Chain {
  ChainMode mode;
  UndoCopyKind undo_copy;
};

class HeadRestartTest : public ::testing::TestWithParam<Chain> {};

// No other node has what a head had not committed: its own undo copy has the
// old state, and the entry leaves its ring.
TEST_P(HeadRestartTest, RollsBackFromItsUndoCopy) {
  ChainRig::Options options;
  options.mode = GetParam().mode;
  options.undo_copy = GetParam().undo_copy;
  if (RepairsAlone(options.mode)) options.names = {"n1", "n2", "n3"};
  int torn = 0;
  int truncated = 0;
  int kept = 0;
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    const Tally tally = AtEachMoment(
        options, "n1", moment, [&](ChainRig& rig, const auto& change) {
          rig.Start("n1");
          ASSERT_TRUE(rig.up("n1")) << rig.fatal("n1");
          ASSERT_EQ(rig.node("n1").core().soundness().condition(),
                    Condition::kReturned);
          EXPECT_EQ(rig.ring("n1").applied(), rig.ring("n1").received());
          if (rig.ring("n1").received() == rig.ring("n2").received()) {
            truncated += rig.tear("n1").received > rig.ring("n1").received();
            EXPECT_EQ(*rig.ReadAll("n1"), *rig.ReadAll("n2"));
          } else {
            ++kept;
          }
          rig.InstallView(rig.names());
          rig.Settle();
          if (!change->acknowledged()) rig.Retry(change);
          ExpectGoesOn(rig, {change});
        });
    if (HasFailure()) return;
    torn += tally.torn;
  }
  EXPECT_GT(torn, 0);
  EXPECT_GT(truncated, 0);
  EXPECT_GT(kept, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Chains, HeadRestartTest,
    ::testing::Values(Chain{ChainMode::kKamino, UndoCopyKind::kSimple},
                      Chain{ChainMode::kKamino, UndoCopyKind::kDynamic},
                      Chain{ChainMode::kTraditional, UndoCopyKind::kSimple},
                      Chain{ChainMode::kTraditional, UndoCopyKind::kDynamic},
                      Chain{ChainMode::kTraditional, UndoCopyKind::kLog}),
    [](const auto& info) {
      return absl::StrCat(ChainModeName(info.param.mode), "_",
                          UndoCopyKindName(info.param.undo_copy));
    });

// --- All nodes down at once.

// Tears one operation at each of `victims`, from the tail to the head: the last
// one at the first node. Then the power goes everywhere.
void TearEach(ChainRig& rig, const std::vector<std::string>& victims,
              std::vector<std::shared_ptr<Issued>>* issued) {
  uint64_t client = 1;
  for (auto victim = victims.rbegin(); victim != victims.rend(); ++victim) {
    SCOPED_TRACE(*victim);
    rig.CutPowerAt(*victim, Moment::kDrain, *victim == "n1" ? 2 : 1);
    const std::string key = absl::StrCat("old", client - 1);
    issued->push_back(rig.Submit(client++, {Patch(key, 40, "torn by power")}));
    while (!rig.tear(*victim).happened) ASSERT_TRUE(rig.Step());
    if (*victim != "n1") {
      EXPECT_TRUE(rig.tear(*victim).torn());
    }
    while (rig.Step()) {
    }
  }
  uint64_t seed = victims.size();
  for (const char* name : {"n1", "n2", "n3", "n4"}) {
    if (rig.up(name)) rig.CutPower(name, seed += 17);
  }
}

TEST(PowerCutTest, AnyTwoOfFourNodesContinue) {
  const std::vector<std::string> names = {"n1", "n2", "n3", "n4"};
  for (unsigned set = 0; set < 16; ++set) {
    for (size_t a = 0; a < names.size(); ++a) {
      for (size_t b = a + 1; b < names.size(); ++b) {
        std::vector<std::string> victims;
        for (size_t i = 0; i < names.size(); ++i) {
          if ((set >> i & 1) != 0) victims.push_back(names[i]);
        }
        SCOPED_TRACE(absl::StrCat("set ", set, ", ", names[a], names[b]));
        ChainRig rig;
        Prepare(rig);
        std::vector<std::shared_ptr<Issued>> issued;
        TearEach(rig, victims, &issued);
        if (::testing::Test::HasFailure()) return;
        for (const std::string& name : {names[a], names[b]}) {
          rig.Start(name);
          ASSERT_TRUE(rig.up(name)) << rig.fatal(name);
        }
        rig.InstallView({names[a], names[b]});
        rig.Settle();
        for (const auto& each : issued) {
          if (!each->acknowledged()) rig.Retry(each);
        }
        ExpectGoesOn(rig, issued);
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// --- Promotion.

// Section 5.2: an operation that the old tail completed holds no lock once the
// tail has said so, although the new head was not told; one in flight does.
TEST(PromotionTest, HoldsLocksOnlyForInFlightMutations) {
  ChainRig rig;
  Prepare(rig);
  const uint64_t before = rig.ring("n1").received();
  rig.Hold("n4");
  const auto first = rig.Submit(1, {Patch("old0", 0, "first")});
  const auto second = rig.Submit(2, {Patch("old1", 0, "second")});
  while (rig.ring("n3").applied() < before + 2) ASSERT_TRUE(rig.Step());
  rig.Hold("n2");
  rig.Hold("n1");
  rig.Hold("n4", false);
  while (rig.ring("n4").applied() < before + 1) ASSERT_TRUE(rig.Step());
  rig.BreakLinks("n3", "n4");
  rig.CutPower("n1", 1);
  rig.Hold("n3");
  ASSERT_EQ(rig.ring("n4").received(), before + 1);

  rig.InstallView({"n2", "n3", "n4"});
  rig.Hold("n2", false);
  rig.Hold("n4");
  while (!rig.node("n2").core().place().is_head()) ASSERT_TRUE(rig.Step());
  EXPECT_EQ(rig.node("n2").head().admission_stats()->in_flight, 2u);
  const size_t locked = rig.node("n2").head().store_stats()->locked_objects;
  rig.Hold("n4", false);
  while (rig.node("n2").core().progress().completed() < before + 1) {
    ASSERT_TRUE(rig.Step());
  }
  rig.Settle(3);
  EXPECT_EQ(rig.node("n2").head().admission_stats()->in_flight, 1u);
  EXPECT_GT(rig.node("n2").head().store_stats()->locked_objects, 0u);
  EXPECT_LT(rig.node("n2").head().store_stats()->locked_objects, locked);

  rig.Retry(first);   // complete: answered from the stored outcome
  rig.Retry(second);  // in flight: waits
  rig.Settle(3);
  EXPECT_EQ(first->answers, 1);
  EXPECT_EQ(second->answers, 0);
  EXPECT_EQ(rig.node("n2").head().admission_stats()->parked, 1u);
  const auto free = rig.Submit(3, {Patch("old0", 0, "later")});
  const auto parked = rig.Submit(4, {Patch("old1", 0, "later")});
  rig.Settle(3);
  EXPECT_EQ(rig.node("n2").head().admission_stats()->parked, 2u);
  EXPECT_EQ(rig.node("n2").head().admission_stats()->in_flight, 2u);

  rig.Hold("n3", false);
  rig.Settle();
  EXPECT_EQ(first->outcome.sequence, before + 1);
  EXPECT_EQ(second->outcome.sequence, before + 2);
  ExpectGoesOn(rig, {first, second, free, parked});
}

}  // namespace
}  // namespace kamino::node
