// A returning member receives only what changed, or the whole heap where the
// changes would not make its heap equal to the chain's.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "membership/condition.h"
#include "replica/state/state_copy.h"
#include "tests/faults/fault.h"
#include "tests/node/driver/chain_rig.h"

namespace kamino::node {
namespace {

using kamino::internal::v1::ChainMessage;
using membership::Condition;
using replica::WholeHeapFor;
using Moment = ChainRig::Moment;

class CatchingUpTest : public testing::TestWithParam<ChainMode> {
 protected:
  CatchingUpTest() : rig_(Options()) {}

  static ChainRig::Options Options() {
    ChainRig::Options options;
    options.mode = GetParam();
    options.heap_bytes = 2 << 20;
    return options;
  }

  void SetUp() override {
    rig_.SetFilter([this](const std::string&, const std::string&,
                          ChainMessage* message, std::string*) {
      if (message->has_state_chunk()) {
        ++chunks_;
        bytes_ += message->state_chunk().snapshot().size();
      }
      return true;
    });
    rig_.StartAll();
    rig_.InstallView({"n1", "n2", "n3", "n4"});
    rig_.Settle(3);
    for (int i = 0; i < 60; ++i) {
      Submit(Put(absl::StrCat("large", i), std::string(6000, 'a' + i % 26)));
      for (int j = 0; j < 3; ++j) {
        Submit(Put(absl::StrCat("small", i, "-", j), std::string(40 + i, 's')));
      }
      rig_.Settle(1);
    }
    rig_.Settle();
    ASSERT_EQ(rig_.Difference(), "");
  }

  // By a client of its own, which has one request under way at most.
  std::shared_ptr<Issued> Submit(const kamino::v1::Operation& operation) {
    return rig_.Submit(++client_, {operation});
  }

  // Overwrites some objects, deletes some and adds some.
  void Change(int round) {
    const std::string of = std::to_string(round);
    Submit(Patch(absl::StrCat("large", 3 + round), 100, "patched " + of));
    Submit(Delete(absl::StrCat("large", 20 + round)));
    Submit(Put("another" + of, std::string(3000, 'A' + round)));
    Submit(Put("more" + of, std::string(90, 'm')));
    Submit(Delete(absl::StrCat("small", round, "-1")));
    rig_.Settle();
  }

  replica::TransferStats transfer(const std::string& name) {
    return rig_.node(name).core().transfer();
  }
  uint64_t whole(const std::string& name, WholeHeapFor reason) {
    return transfer(name).whole[static_cast<size_t>(reason)];
  }

  bool attached(const std::string& name) {
    return rig_.up(name) && rig_.node(name).core().links().joiner.keeps_up();
  }

  // It joins, under load, and gets its place.
  void Join(const std::string& name, std::vector<std::string> members) {
    RunUntilAttached(name);
    ASSERT_TRUE(attached(name));
    members.push_back(name);
    rig_.Settle();
    rig_.InstallView(members);
    rig_.Settle();
    EXPECT_EQ(rig_.Difference(), "");
    Change(15);
    EXPECT_EQ(rig_.Difference(), "");
  }

  // The same, of which nothing may come.
  bool JoinsWell(const std::string& name, std::vector<std::string> members) {
    RunUntilAttached(name);
    if (!attached(name)) return false;
    members.push_back(name);
    rig_.Settle();
    rig_.InstallView(members);
    rig_.Settle();
    return rig_.Difference().empty();
  }

  void RunUntilAttached(const std::string& name) {
    rig_.Invite(name);
    for (int i = 0; i < 20000 && !attached(name); ++i) {
      if (i % 40 == 0) {
        Submit(Put(absl::StrCat("load", i % 7), std::string(i % 900, 'l')));
      }
      if (i % 50 == 0) rig_.Tick();
      rig_.Step();
    }
  }

  void Leave(const std::string& name, const std::vector<std::string>& others) {
    rig_.CutPower(name, ++client_);
    rig_.Settle(1);
    rig_.InstallView(others);
    rig_.Settle();
  }

  // The head commits mutations that its successor does not receive, and dies.
  void LoseTheHead(bool objects_come_and_go = true) {
    rig_.Hold("n2");
    // No other operation changes the patched object; inserts and deletes all
    // change the index.
    Submit(Patch("large30", 7, "lost"));
    if (objects_come_and_go) {
      Submit(Put("lost as well", std::string(5000, 'x')));
      Submit(Delete("large31"));
    }
    rig_.Settle(2);
    ASSERT_GT(rig_.ring("n1").received(), rig_.ring("n2").received());
    rig_.CutPower("n1", 7);
    rig_.BreakLinks("n1", "n2");
    rig_.Hold("n2", false);
    rig_.InstallView({"n2", "n3", "n4"});
    rig_.Settle();
  }

  // The tail dies before it receives what the others have executed.
  void LoseATailThatLags() {
    rig_.Hold("n4");
    Submit(Put("large7", std::string(6000, '7')));
    Submit(Put("late", std::string(4000, 'L')));
    Submit(Delete("large8"));
    rig_.Settle(2);
    ASSERT_GT(rig_.ring("n3").applied(), rig_.ring("n4").received());
    rig_.CutPower("n4", 7);
    rig_.BreakLinks("n3", "n4");
    rig_.Hold("n4", false);
    rig_.InstallView({"n1", "n2", "n3"});
    rig_.Settle();
  }

  // n4 dies when it has some of what has changed.
  void DieOnTheWay() {
    Leave("n4", {"n1", "n2", "n3"});
    for (int i = 0; i < 10; ++i) Change(i);
    rig_.Start("n4");
    rig_.Invite("n4");
    for (int i = 0; i < 20000 && chunks_ < 4; ++i) {
      if (i % 50 == 0) rig_.Tick();
      rig_.Step();
    }
    ASSERT_TRUE(transfer("n4").of_changes);
    ASSERT_FALSE(attached("n4"));
    rig_.CutPower("n4", 3);
    rig_.Settle(1);
    rig_.Start("n4");
  }

  ChainRig rig_;
  int chunks_ = 0;
  size_t bytes_ = 0;  // in them
  uint64_t client_ = 0;
};

TEST_P(CatchingUpTest, ReceivesOnlyTheChanges) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_TRUE(transfer("n4").of_changes);
  EXPECT_EQ(transfer("n4").caught_up, 1u);
  EXPECT_EQ(transfer("n3").caught_up, 1u);
  EXPECT_LT(bytes_, 200u << 10);  // of 1 MiB and more
  EXPECT_EQ(rig_.node("n4").core().soundness().condition(), Condition::kSound);
}

TEST_P(CatchingUpTest, ANodeThatCaughtUpIsTheNextDonor) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  // n4 is the tail now, and was no member when n3 was one last.
  bytes_ = 0;
  Leave("n3", {"n1", "n2", "n4"});
  Change(1);
  rig_.Start("n3");
  Join("n3", {"n1", "n2", "n4"});
  EXPECT_TRUE(transfer("n3").of_changes);
  EXPECT_LT(bytes_, 200u << 10);
}

TEST_P(CatchingUpTest, AnExpelledProcessCatchesUp) {
  rig_.InstallView({"n1", "n3", "n4"});
  Change(0);
  Change(1);
  Join("n2", {"n1", "n3", "n4"});
  EXPECT_TRUE(transfer("n2").of_changes);
}

TEST_P(CatchingUpTest, AnExpelledHeadCatchesUp) {
  rig_.InstallView({"n2", "n3", "n4"});
  Change(0);
  Join("n1", {"n2", "n3", "n4"});
  EXPECT_TRUE(transfer("n1").of_changes);
}

// The head committed mutations that no other node received. The chain has not
// kept them: other mutations have their numbers.
TEST_P(CatchingUpTest, MutationsThatTheChainLostAreReplaced) {
  LoseTheHead();
  Change(0);
  rig_.Start("n1");
  Join("n1", {"n2", "n3", "n4"});
  EXPECT_TRUE(transfer("n1").of_changes);
}

// The node is sent mutations that others executed before it left.
TEST_P(CatchingUpTest, EntriesThatItLackedCountAsChanges) {
  LoseATailThatLags();
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_TRUE(transfer("n4").of_changes);
}

// Interrupted within an entry; a node outside the chain has no neighbour to
// repair it.
TEST_P(CatchingUpTest, AnInterruptedNodeCatchesUp) {
  rig_.CutPowerAt("n4", Moment::kDrain, 1);
  Submit(Put("large5", std::string(6000, 'Z')));
  Submit(Put("torn", std::string(2500, 'T')));
  rig_.Settle(2);
  ASSERT_FALSE(rig_.up("n4"));
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  Change(0);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_TRUE(transfer("n4").of_changes);
}

// Its heap is of two times then.
TEST_P(CatchingUpTest, ACrashWhileCatchingUpCallsForTheWholeHeap) {
  DieOnTheWay();
  EXPECT_EQ(rig_.node("n4").core().soundness().condition(),
            Condition::kReceiving);
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_FALSE(transfer("n4").of_changes);
  EXPECT_EQ(whole("n3", WholeHeapFor::kNothingHeld), 1u);
}

TEST_P(CatchingUpTest, ARestartedDonorSendsTheWholeHeap) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  rig_.CutPower("n3", 9);
  rig_.Settle(1);
  rig_.Start("n3");
  rig_.InstallView({"n1", "n2", "n3"});
  rig_.Settle();
  Change(1);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_FALSE(transfer("n4").of_changes);
  EXPECT_EQ(whole("n3", WholeHeapFor::kHistory), 1u);
}

TEST_P(CatchingUpTest, ANewlyJoinedDonorSendsTheWholeHeap) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  Leave("n3", {"n1", "n2"});
  Change(1);
  rig_.Start("n3");
  Join("n3", {"n1", "n2"});
  EXPECT_TRUE(transfer("n3").of_changes);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_FALSE(transfer("n4").of_changes);
  EXPECT_EQ(whole("n3", WholeHeapFor::kHistory), 1u);
}

TEST_P(CatchingUpTest, SeveralNodesCatchUpFromOneTail) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  Leave("n1", {"n2", "n3"});
  Change(1);
  rig_.Start("n1");
  rig_.Start("n4");
  // The tail of now gives both what they lack, as n1 gets no place meanwhile.
  rig_.Invite("n1");
  for (int i = 0; i < 20000 && !attached("n1"); ++i) {
    if (i % 50 == 0) rig_.Tick();
    rig_.Step();
  }
  EXPECT_TRUE(transfer("n1").of_changes);
  rig_.CutPower("n1", 5);
  rig_.Settle(200);
  Join("n4", {"n2", "n3"});
  EXPECT_TRUE(transfer("n4").of_changes);
}

TEST_P(CatchingUpTest, ChangesAreForgottenAfterKeepChanges) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  const absl::Time begun = rig_.now();
  while (rig_.now() - begun <= replica::ChainOptions().keep_changes) {
    rig_.Settle(100);
  }
  Change(1);
  rig_.Start("n4");
  Join("n4", {"n1", "n2", "n3"});
  EXPECT_FALSE(transfer("n4").of_changes);
  EXPECT_EQ(whole("n3", WholeHeapFor::kChanges), 1u);
}

INSTANTIATE_TEST_SUITE_P(Modes, CatchingUpTest,
                         testing::Values(ChainMode::kKamino,
                                         ChainMode::kTraditional,
                                         ChainMode::kImages),
                         [](const auto& info) {
                           return std::string(ChainModeName(info.param));
                         });

// Mistakes that each of these must notice.
class FaultyCatchingUpTest : public CatchingUpTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(faults::PlantedFaultWasMet());
    faults::PlantFault("");
  }
};

TEST_P(FaultyCatchingUpTest, AMissingPageIsDetected) {
  Leave("n4", {"n1", "n2", "n3"});
  for (int i = 0; i < 8; ++i) Change(i);
  rig_.Start("n4");
  faults::PlantFault("changes-lack-a-page");
  EXPECT_FALSE(JoinsWell("n4", {"n1", "n2", "n3"}));
}

TEST_P(FaultyCatchingUpTest, ChangesThatBeginTooLateAreDetected) {
  faults::PlantFault("changes-begin-too-late");
  LoseATailThatLags();
  rig_.Start("n4");
  EXPECT_FALSE(JoinsWell("n4", {"n1", "n2", "n3"}));
}

// The new objects lie in what counts as free space: the node cannot notice.
TEST_P(FaultyCatchingUpTest, MissingNewBlocksAreDetected) {
  Leave("n4", {"n1", "n2", "n3"});
  Submit(Put("another", std::string(3000, 'A')));
  rig_.Settle();
  rig_.Start("n4");
  faults::PlantFault("changes-without-blocks");
  EXPECT_FALSE(JoinsWell("n4", {"n1", "n2", "n3"}));
  EXPECT_EQ(transfer("n4").damaged, 0u);
}

// No object begins where the deleted objects lay: the joining node breaks the
// transfer off, and is sent the whole heap, for which it needs no blocks.
TEST_P(FaultyCatchingUpTest, MissingFreedBlocksCauseAWholeTransfer) {
  Leave("n4", {"n1", "n2", "n3"});
  Change(0);
  rig_.Start("n4");
  faults::PlantFault("changes-without-blocks");
  EXPECT_TRUE(JoinsWell("n4", {"n1", "n2", "n3"}));
  EXPECT_EQ(transfer("n4").damaged, 1u);
  EXPECT_EQ(transfer("n3").caught_up, 1u);
  EXPECT_EQ(whole("n3", WholeHeapFor::kNothingHeld), 1u);
  EXPECT_FALSE(transfer("n4").of_changes);
}

TEST_P(FaultyCatchingUpTest, IgnoredHistoryIsDetected) {
  LoseTheHead();
  Change(0);
  rig_.Start("n1");
  faults::PlantFault("changes-ignore-history");
  EXPECT_FALSE(JoinsWell("n1", {"n2", "n3", "n4"}));
}

TEST_P(FaultyCatchingUpTest, AMixedHeapThatCountsAsWholeIsDetected) {
  faults::PlantFault("changes-stored-to-what-counts");
  DieOnTheWay();
  EXPECT_NE(rig_.node("n4").core().soundness().condition(),
            Condition::kReceiving);
}

// The change lies within an object. If that object were freed as well, the
// joining node would notice that no object begins there. (In mode kamino the
// delete would wait for the operations that it depends on, and not be done when
// the head dies.)
TEST_P(FaultyCatchingUpTest, KeptMutationsOfALostHeadAreDetected) {
  LoseTheHead(/*objects_come_and_go=*/false);
  rig_.Start("n1");
  faults::PlantFault("changes-keep-what-others-lack");
  EXPECT_FALSE(JoinsWell("n1", {"n2", "n3", "n4"}));
  EXPECT_EQ(transfer("n1").damaged, 0u);
}

INSTANTIATE_TEST_SUITE_P(Modes, FaultyCatchingUpTest,
                         testing::Values(ChainMode::kKamino,
                                         ChainMode::kTraditional,
                                         ChainMode::kImages),
                         [](const auto& info) {
                           return std::string(ChainModeName(info.param));
                         });

}  // namespace
}  // namespace kamino::node
