// A chain in traditional mode: a node that a power cut tore rolls back the
// operation by itself, with each kind of undo copy, before it hears of another
// node. The cut is made at every flush or drain of an operation in turn.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/node/driver/chain_rig.h"
#include "tests/node/driver/torn_change.h"

namespace kamino::node {
namespace {

using membership::Condition;
using Moment = ChainRig::Moment;

ChainRig::Options Traditional(UndoCopyKind kind) {
  ChainRig::Options options;
  options.names = {"n1", "n2", "n3"};
  options.mode = ChainMode::kTraditional;
  options.undo_copy = kind;
  return options;
}

class TraditionalTest : public ::testing::TestWithParam<UndoCopyKind> {
 protected:
  // Loses the power of `victim` at each moment of the change in turn, starts it
  // again, and calls `go_on`.
  void TearEverywhere(
      const std::string& victim,
      const std::function<void(ChainRig&, const std::shared_ptr<Issued>&)>&
          go_on) {
    const ChainRig::Options options = Traditional(GetParam());
    ChainRig whole(options);
    Prepare(whole);
    const auto before = *whole.ReadAll(victim);
    const uint64_t applied = whole.ring(victim).applied();
    int torn = 0;
    int rolled_back = 0;
    for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
      const Tally tally = AtEachMoment(
          options, victim, moment, [&](ChainRig& rig, const auto& change) {
            rig.Start(victim);
            ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
            // It has heard of no other node, and is whole.
            ASSERT_EQ(rig.node(victim).core().soundness().condition(),
                      Condition::kReturned);
            if (rig.ring(victim).applied() == applied) {
              ++rolled_back;
              EXPECT_EQ(*rig.ReadAll(victim), before);
            }
            go_on(rig, change);
          });
      if (HasFailure()) return;
      torn += tally.torn;
    }
    EXPECT_GT(torn, 0) << victim;
    EXPECT_GT(rolled_back, 0) << victim;
  }
};

TEST_P(TraditionalTest, ANodeRollsBackByItselfAndExecutesAgain) {
  for (const char* victim : {"n2", "n3"}) {
    TearEverywhere(victim, [](ChainRig& rig, const auto& change) {
      rig.InstallView({"n1", "n2", "n3"});
      ExpectGoesOn(rig, {change});
    });
    if (HasFailure()) return;
  }
}

// No other node is left that could tell it anything.
TEST_P(TraditionalTest, ANodeContinuesAlone) {
  for (const char* victim : {"n2", "n3"}) {
    TearEverywhere(victim, [victim](ChainRig& rig, const auto& change) {
      uint64_t seed = 1;
      for (const char* name : {"n1", "n2", "n3"}) {
        if (name != std::string(victim)) rig.CutPower(name, seed += 7);
      }
      rig.InstallView({victim});
      rig.Settle();
      EXPECT_TRUE(rig.up(victim)) << rig.fatal(victim);
      if (!change->acknowledged()) rig.Retry(change);
      ExpectGoesOn(rig, {change});
    });
    if (HasFailure()) return;
  }
}

TEST_P(TraditionalTest, ANewHeadExecutesAgain) {
  TearEverywhere("n2", [](ChainRig& rig, const auto& change) {
    rig.CutPower("n1", 7);
    const uint64_t received = rig.ring("n2").received();
    rig.InstallView({"n2", "n3"});
    rig.Settle();
    // It is there before anyone asks for it again.
    EXPECT_EQ(rig.ring("n3").applied(), received);
    if (!change->acknowledged()) rig.Retry(change);
    ExpectGoesOn(rig, {change});
  });
}

// Requests that follow each other on one object do not wait for the chain; the
// power goes while several are in flight.
TEST_P(TraditionalTest, DependentEntriesAreInFlightTogether) {
  for (const char* victim : {"n1", "n2", "n3"}) {
    int cuts = 0;
    for (int count = 1; count < 40; ++count) {
      SCOPED_TRACE(absl::StrCat(victim, " ", count));
      ChainRig rig(Traditional(GetParam()));
      Prepare(rig);
      rig.Hold("n3");
      std::vector<std::shared_ptr<Issued>> issued;
      for (int i = 0; i < 6; ++i) {
        issued.push_back(rig.Submit(
            i + 1, {Patch("old0", 4 * i, "next"), Put("old1", "x")}));
        rig.Settle(1);
      }
      EXPECT_EQ(rig.node("n1").head().admission_stats()->in_flight, 6u);
      rig.CutPowerAt(victim, Moment::kFlush, count);
      rig.Hold("n3", false);
      issued.push_back(rig.Submit(9, {Delete("old1"), Put("new", "y")}));
      rig.Settle(3);
      if (!rig.tear(victim).happened) break;
      ++cuts;
      rig.Start(victim);
      ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
      rig.InstallView({"n1", "n2", "n3"});
      rig.Settle();
      for (const auto& each : issued) {
        if (!each->acknowledged()) rig.Retry(each);
        rig.Settle();
        EXPECT_TRUE(each->acknowledged()) << each->outcome.status;
      }
      EXPECT_EQ(rig.Difference(), "");
      if (HasFailure()) return;
    }
    EXPECT_GT(cuts, 5) << victim;
  }
}

// Whether a node that loses its power while it joins, within the last entry
// there is, goes on where it was, and keeps up.
bool KeepsUpInAnIdleChain(UndoCopyKind kind) {
  int interrupted = 0;
  bool keeps_up = true;
  for (int count = 1; count < kMostMoments; ++count) {
    SCOPED_TRACE(count);
    ChainRig rig(Traditional(kind));
    rig.StartAll();
    rig.InstallView({"n1", "n2"});
    rig.Submit(1, {Put("old0", std::string(300, 'a'))});
    rig.Settle(2);
    rig.Invite("n3");
    rig.Settle();
    EXPECT_TRUE(rig.node("n3").core().links().joiner.keeps_up());
    rig.CutPowerAt("n3", Moment::kFlush, count);
    const auto last = rig.Submit(2, {Patch("old0", 10, "patched")});
    rig.Settle(3);
    EXPECT_TRUE(last->acknowledged());
    if (!rig.tear("n3").happened) break;
    rig.Start("n3");
    interrupted += rig.ring("n3").applied() < rig.ring("n3").received();
    rig.Invite("n3");
    rig.Settle();
    EXPECT_EQ(rig.node("n3").core().transfer().bytes, 0u);  // of no heap
    keeps_up &= rig.node("n3").core().links().joiner.keeps_up();
    rig.InstallView({"n1", "n2", "n3"});
    rig.Settle();
    EXPECT_EQ(rig.Difference(), "");
  }
  EXPECT_GT(interrupted, 0);
  return keeps_up;
}

TEST_P(TraditionalTest, AJoiningNodeExecutesAgainInAnIdleChain) {
  EXPECT_TRUE(KeepsUpInAnIdleChain(GetParam()));
}

TEST_P(TraditionalTest, NoticesAJoiningNodeThatWaitsForAnotherEntry) {
  faults::Planted fault("chain-joins-again-with-the-next-entry");
  EXPECT_FALSE(KeepsUpInAnIdleChain(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TraditionalTest,
    ::testing::Values(UndoCopyKind::kLog, UndoCopyKind::kSimple,
                      UndoCopyKind::kDynamic),
    [](const auto& info) {
      return std::string(info.param == UndoCopyKind::kLog      ? "Log"
                         : info.param == UndoCopyKind::kSimple ? "Simple"
                                                               : "Dynamic");
    });

}  // namespace
}  // namespace kamino::node
