// Operations that a power cut tore, each case of section 5.3 forced: the cut is
// made at every flush or drain of an operation in turn, and leaves half of its
// stores.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/head/chain_rig.h"

namespace kamino::head {
namespace {

using kamino::v1::Operation;
using membership::Condition;
using Moment = ChainRig::Moment;

constexpr int kMostMoments = 200;

// Objects that later operations change, and clients that have been seen.
void Prepare(ChainRig& rig) {
  rig.StartAll();
  rig.InstallView({"n1", "n2", "n3", "n4"});
  rig.Settle();
  for (int i = 0; i < 8; ++i) {
    rig.Submit(i + 1, {Put(absl::StrCat("old", i), std::string(300, 'a' + i))});
    rig.Settle(2);
  }
  ASSERT_EQ(rig.Difference(), "");
}

// Allocates, writes in place and frees.
std::vector<Operation> Change() {
  return {Put("new0", std::string(500, 'x')), Patch("old0", 10, "patched"),
          Delete("old1"), Put("old2", std::string(300, 'y')),
          Put("new1", std::string(200, 'z'))};
}

void ExpectGoesOn(ChainRig& rig) {
  EXPECT_EQ(rig.Difference(), "");
  std::vector<std::shared_ptr<Issued>> more;
  more.push_back(rig.Submit(20, {Put("after", std::string(400, 'q'))}));
  more.push_back(rig.Submit(21, {Delete("old3")}));
  more.push_back(rig.Submit(22, {Patch("old4", 0, "again")}));
  rig.Settle();
  for (const auto& issued : more) {
    EXPECT_EQ(issued->answers, 1);
    EXPECT_TRUE(issued->acknowledged()) << issued->outcome.status;
  }
  EXPECT_EQ(rig.Difference(), "");
}

// How often a case came about.
struct Tally {
  int cuts = 0;
  int torn = 0;
  int partly = 0;  // torn with objects that were not touched yet
};

void Count(const Tear& tear, Tally* tally) {
  ++tally->cuts;
  tally->torn += tear.torn();
  tally->partly += tear.torn() && tear.touched < tear.intents;
}

class RestartTest : public ::testing::TestWithParam<std::string> {};

// The predecessor has executed the operation: the node gets it from there.
TEST_P(RestartTest, RollsForwardFromThePredecessor) {
  const std::string victim = GetParam();
  for (const Moment moment : {Moment::kFlush, Moment::kDrain}) {
    Tally tally;
    for (int count = 1; count < kMostMoments; ++count) {
      SCOPED_TRACE(count);
      ChainRig rig;
      Prepare(rig);
      rig.CutPowerAt(victim, moment, count);
      const auto change = rig.Submit(1, Change());
      rig.Settle(3);
      if (!rig.tear(victim).happened) break;
      ASSERT_FALSE(rig.up(victim));
      EXPECT_FALSE(change->acknowledged());
      Count(rig.tear(victim), &tally);

      rig.Start(victim);
      ASSERT_TRUE(rig.up(victim)) << rig.fatal(victim);
      ASSERT_EQ(rig.node(victim).core().condition(), Condition::kTorn);
      rig.InstallView({"n1", "n2", "n3", "n4"});
      rig.Settle();
      EXPECT_EQ(change->answers, 1);
      EXPECT_TRUE(change->acknowledged());
      ExpectGoesOn(rig);
      if (::testing::Test::HasFailure()) return;
    }
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

}  // namespace
}  // namespace kamino::head
