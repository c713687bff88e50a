// Which nodes the manager refuses: members with old copies of their data, and
// nodes whose settings differ from the others'.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "membership/manager/manager_core.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

// --- Old copies.

TEST_F(ManagerCoreTest, AnOldCopyIsRefusedAndTheChainContinuesWithoutIt) {
  FormChain();
  for (const char* id : {"n1", "n2", "n3"}) cursors_[id] = {110, 110, 100};
  Pass(kBeat, all_);
  const absl::Status refused = Return("n3", {12, 12, 10});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(refused.message(),
            "node n3 is on an old copy of its data: it holds mutations up to "
            "12, but according to n3 it had applied mutations up to 110; move "
            "its files away and start it again: it joins as a new node");
  // It is refused each time; nothing else changes.
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  EXPECT_TRUE(absl::IsFailedPrecondition(Return("n3", {12, 12, 10})));
  EXPECT_EQ(core_.view().id, 1u);
  Pass(kBeat, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
  // Outside of the chain an old copy does no harm: it gets the chain's state.
  EXPECT_EQ(Return("n3", {12, 12, 10}), absl::OkStatus());
  EXPECT_TRUE(core_.ShouldJoin("n3", now_));
}

TEST_F(ManagerCoreTest, AnOldCopyDoesNotDisturbTheLiveProcess) {
  FormChain();
  for (const char* id : {"n1", "n2", "n3"}) cursors_[id] = {110, 110, 100};
  Pass(kBeat, all_);
  const Cursors alive = cursors_["n3"];
  EXPECT_TRUE(absl::IsFailedPrecondition(Return("n3", {12, 12, 10})));
  // Likewise a copy older than the last start of the process.
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Register(
      "c", Node("n3"),
      {.condition = Condition::kReturned, .cursors = {12, 12, 10}}, now_)));
  cursors_["n3"] = alive;
  Pass(kTimeout * 2, all_);
  EXPECT_EQ(core_.view().id, 1u);
}

TEST_F(ManagerCoreTest, AnOldCopyIsDetectedByReportsOfOthers) {
  FormChain();
  Lead(core_.view());  // a leader that has not heard n1
  cursors_["n2"] = {110, 110, 0};
  Pass(kBeat, {all_[1], all_[2]}, Condition::kSound,
       absl::StatusCode::kUnavailable);
  const absl::Status refused = Return("n1", {12, 12, 0});
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(refused.message().find("according to n2"), std::string::npos);
}

// Two are there, one of them with an old copy: only one counts.
TEST_F(ManagerCoreTest, AnOldCopyDoesNotCountAfterAPowerCut) {
  FormChain();
  Pass(kTimeout * 2, {});
  Lead(core_.view());
  Pass(kTimeout * 2, {});
  // It comes first, when the manager cannot know yet.
  EXPECT_EQ(Return("n1", {12, 12, 10}), absl::OkStatus());
  EXPECT_EQ(Return("n2", {110, 110, 100}), absl::OkStatus());
  // It is told at its next heartbeat.
  EXPECT_TRUE(absl::IsNotFound(Beat("n1", 2, Condition::kReturned)));
  EXPECT_TRUE(absl::IsFailedPrecondition(Return("n1", {12, 12, 10})));
  Pass(kTimeout * 3, {Node("n2", 2)}, Condition::kReturned);
  EXPECT_EQ(core_.view().id, 1u);
  EXPECT_EQ(core_.registry().WaitingFor(now_),
            std::vector<std::string>({"n3"}));
  EXPECT_EQ(Return("n3", {110, 109, 90}), absl::OkStatus());
  Pass(kTimeout + kBeat, {Node("n2", 2), Node("n3", 2)}, Condition::kReturned);
  EXPECT_EQ(Names(core_.view()), "n2.2 n3.2 ");
}

TEST_F(ManagerCoreTest, AReportedShortfallIsCheckedAgainstOtherMembers) {
  FormChain();
  for (const char* id : {"n1", "n2", "n3"}) cursors_[id] = {10, 10, 10};
  Pass(kBeat, all_);
  EXPECT_EQ(Return("n1", {10, 10, 10}), absl::OkStatus());
  Pass(kBeat, {Node("n1", 2), all_[1], all_[2]});
  ASSERT_EQ(Names(core_.view()), "n1.2 n2.1 n3.1 ");
  // A wrong message made it believe so.
  EXPECT_EQ(Beat("n1", 2, Condition::kOutrun), absl::OkStatus());
  cursors_["n2"] = {11, 11, 10};
  EXPECT_EQ(Beat("n2"), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Beat("n1", 2, Condition::kOutrun)));
  EXPECT_TRUE(absl::IsFailedPrecondition(core_.Register(
      "c", Node("n1", 2),
      {.condition = Condition::kOutrun, .cursors = cursors_["n1"]}, now_)));
  Pass(kTimeout, {all_[1], all_[2]});
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
}

// A mutation that only a former head has executed is no loss.
TEST_F(ManagerCoreTest, FormerPositionsOfADroppedNodeDoNotCount) {
  FormChain();
  cursors_["n1"] = {120, 120, 100};
  Pass(kBeat, all_);
  Pass(kTimeout, {all_[1], all_[2]});
  ASSERT_EQ(Names(core_.view()), "n2.1 n3.1 ");
  EXPECT_EQ(Return("n1", {120, 120, 100}), absl::OkStatus());
  EXPECT_EQ(Beat("n1", 2, Condition::kReturned), absl::OkStatus());
  cursors_["n1"] = {110, 110, 110};
  EXPECT_EQ(Beat("n1", 2, Condition::kBehind, 2), absl::OkStatus());
  Pass(kBeat, {all_[1], all_[2]});
  ASSERT_EQ(Names(core_.view()), "n2.1 n3.1 n1.2 ");
  EXPECT_EQ(Beat("n1", 2), absl::OkStatus());
}

// Although it is silent, and is not a member again yet, it makes no room for
// others: it must still hold its former positions.
TEST_F(ManagerCoreTest, FormerPositionsOfAMemberAreNotEvicted) {
  FormChain();
  for (const char* id : {"n1", "n2", "n3"}) cursors_[id] = {110, 110, 100};
  Pass(kBeat, all_);
  ASSERT_EQ(Return("n1", {110, 110, 100}), absl::OkStatus());
  now_ += 2 * kTimeout;
  for (const char* id : {"n4", "n5"}) {
    ASSERT_EQ(Register(Node(id)), absl::OkStatus());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(Register(Node("n6"))));
}

// --- Settings that nodes must have in common.

TEST_F(ManagerCoreTest, SharedSettingsAreComparedWithLiveNodes) {
  Member first = Node("n1");
  first.agreement = {{"formats", {3, 3}}, {"ring_mb", {64, 64}}};
  Member second = Node("n2");
  second.agreement = {{"formats", {3, 3}}, {"ring_mb", {16, 16}}};
  EXPECT_EQ(Register(first), absl::OkStatus());
  const absl::Status refused = Register(second);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(refused.message(),
            "ring_mb is 16 at n2, but 64 at n1; all nodes of a chain must "
            "have it in common");
  second.agreement = {{"ring_mb", {64, 64}}};
  EXPECT_NE(
      Register(second).message().find("formats is missing at n2, but 3 at n1"),
      std::string::npos);
  // All nodes are changed together, while all are down.
  now_ += kTimeout;
  second.agreement = {{"formats", {3, 3}}, {"ring_mb", {128, 128}}};
  EXPECT_EQ(Register(second), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(Register(first)));
  first.agreement = second.agreement;
  EXPECT_EQ(Register(first), absl::OkStatus());
}

TEST_F(ManagerCoreTest, MembersBindUnderANewLeaderUntilTheyAreSilent) {
  FormChain();
  Lead(core_.view());
  Member other = Node("n4");
  other.agreement = {{"ring_mb", {64, 64}}};
  EXPECT_TRUE(absl::IsFailedPrecondition(Register(other)));
  now_ += kTimeout;
  EXPECT_EQ(Register(other), absl::OkStatus());
  other.agreement[std::string(kMaxAgreementBytes, 'x')] = {0, 1};
  EXPECT_TRUE(absl::IsInvalidArgument(Register(other)));
  other.agreement = {{"ring_mb", {64, 63}}};
  EXPECT_TRUE(absl::IsInvalidArgument(Register(other)));
}

TEST_F(ManagerCoreTest, SettingsInForceMayChangeWhileAllNodesAreDown) {
  std::vector<Member> members = all_;
  for (Member& member : members) {
    member.agreement = {{"ring_mb", {64, 64}}};
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  now_ += 2 * kTimeout;
  for (Member& member : members) {
    ++member.incarnation;
    member.agreement = {{"ring_mb", {16, 16}}};
    EXPECT_EQ(Register(member, Condition::kReturned), absl::OkStatus());
  }
}

// Members are replaced by those of a newer program one after the other, and
// back, until an operator finalizes the feature.
TEST_F(ManagerCoreTest, ANewFeatureIsInForceOnceItIsFinalized) {
  const Agreement old_one = {{"format", {2, 2}}};
  const Agreement new_one = {{"format", {2, 3}}, {"procedure p", {0, 1}}};
  std::vector<Member> members = all_;
  for (Member& member : members) {
    member.agreement = old_one;
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  EXPECT_EQ(core_.view().in_force, (InForce{{"format", 2}}));
  Member spare = Node("n4");
  spare.agreement = old_one;
  ASSERT_EQ(Register(spare), absl::OkStatus());
  const auto exchange = [&](size_t i, const Agreement& program) {
    ++members[i].incarnation;
    members[i].agreement = program;
    ASSERT_EQ(Register(members[i], Condition::kReturned), absl::OkStatus());
    core_.OnViewStored(*core_.ProposeView(now_));
    EXPECT_EQ(core_.view().in_force.at("format"), 2u);
  };
  for (size_t i = 0; i < members.size(); ++i) exchange(i, new_one);
  exchange(1, old_one);
  EXPECT_EQ(NotFinalized(core_.view()).size(), 0u);
  ASSERT_EQ(core_.finalizing().Finalize(/*force=*/false, now_),
            absl::OkStatus());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());  // there is nothing
  exchange(1, new_one);
  ASSERT_EQ(NotFinalized(core_.view()).size(), 2u);
  EXPECT_EQ(NotFinalized(core_.view())[0].name, "format");
  EXPECT_EQ(NotFinalized(core_.view())[0].from, 2u);
  EXPECT_EQ(NotFinalized(core_.view())[0].to, 3u);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());  // no operator has asked
  EXPECT_EQ(core_.finalizing().Finalize(/*force=*/false, now_).message(),
            "format is 2 at n4, but 3 in the chain once the release is "
            "finalized: the node would be refused for good; start it on the "
            "new release first, or force it");
  ASSERT_EQ(core_.finalizing().Finalize(/*force=*/true, now_),
            absl::OkStatus());
  core_.OnViewStored(*core_.ProposeView(now_));
  EXPECT_EQ(core_.view().in_force,
            (InForce{{"format", 3}, {"procedure p", 1}}));
  EXPECT_EQ(NotFinalized(core_.view()).size(), 0u);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  // It was a spare, and is too old now: it is told when it registers again.
  EXPECT_TRUE(absl::IsNotFound(Beat("n4", 1, Condition::kFresh)));
  EXPECT_EQ(Register(spare).message(),
            "format is 2 at n4, but 3 in the chain; all nodes of a chain must "
            "have it in common");
}

TEST_F(ManagerCoreTest, AReleaseWithdrawsAProcedure) {
  std::vector<Member> members = all_;
  for (Member& member : members) {
    member.agreement = {{"procedure p", {0, 1}}};
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  const auto exchange = [&](size_t i, const Agreement& program) {
    ++members[i].incarnation;
    members[i].agreement = program;
    const absl::Status registered = Register(members[i], Condition::kReturned);
    if (registered.ok()) core_.OnViewStored(*core_.ProposeView(now_));
    return registered;
  };
  const Agreement withdraws = {{"procedure p", {0, 1, /*withdrawn=*/true}}};
  for (size_t i = 0; i < members.size(); ++i) {
    EXPECT_TRUE(NotFinalized(core_.view()).empty());
    ASSERT_EQ(exchange(i, withdraws), absl::OkStatus());
  }
  EXPECT_EQ(core_.view().in_force.at("procedure p"), 1u);
  ASSERT_EQ(NotFinalized(core_.view()).size(), 1u);
  EXPECT_EQ(NotFinalized(core_.view())[0].name, "procedure p");
  EXPECT_EQ(NotFinalized(core_.view())[0].from, 1u);
  EXPECT_EQ(NotFinalized(core_.view())[0].to, 0u);
  ASSERT_EQ(core_.finalizing().Finalize(/*force=*/false, now_),
            absl::OkStatus());
  core_.OnViewStored(*core_.ProposeView(now_));
  EXPECT_EQ(core_.view().in_force.at("procedure p"), 0u);
  EXPECT_TRUE(NotFinalized(core_.view()).empty());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  // The release before and the next one fit.
  EXPECT_EQ(exchange(0, {{"procedure p", {0, 1}}}), absl::OkStatus());
  EXPECT_EQ(exchange(1, {}), absl::OkStatus());
  EXPECT_EQ(exchange(0, {}), absl::OkStatus());
  EXPECT_EQ(exchange(2, {}), absl::OkStatus());
  EXPECT_TRUE(core_.view().in_force.empty());
}

// A planted fault puts a feature in force as soon as all nodes have it.
TEST_F(ManagerCoreTest, AManagerThatFinalizesUnaskedIsDetected) {
  faults::PlantFault("membership-raises-unasked");
  std::vector<Member> members = all_;
  for (Member& member : members) {
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  for (Member& member : members) {
    ++member.incarnation;
    member.agreement = {{"procedure p", {0, 1}}};
    ASSERT_EQ(Register(member, Condition::kReturned), absl::OkStatus());
    core_.OnViewStored(*core_.ProposeView(now_));
  }
  EXPECT_TRUE(NotFinalized(core_.view()).empty());
  Member back = members[0];
  ++back.incarnation;
  back.agreement.clear();
  EXPECT_TRUE(absl::IsFailedPrecondition(Register(back, Condition::kReturned)));
  faults::PlantFault("");
}

// A spare with an older program arrives when no member is heard: one without
// the features in force may join no more than the others let it.
class OlderSpareTest : public ManagerCoreTest {
 protected:
  // Whether it is told once a member is back.
  bool IsTold() {
    std::vector<Member> members = all_;
    for (Member& member : members) {
      member.agreement = {{"format", {2, 2}}, {"procedure p", {0, 1}}};
      EXPECT_EQ(Register(member), absl::OkStatus());
    }
    core_.OnViewStored(*core_.ProposeView(now_));
    now_ += 2 * kTimeout;
    Member spare = Node("n4");
    spare.agreement = {{"format", {2, 2}}};
    EXPECT_EQ(Register(spare), absl::OkStatus());
    EXPECT_EQ(Register(members[0], Condition::kSound), absl::OkStatus());
    return absl::IsNotFound(Beat("n4", 1, Condition::kFresh)) &&
           absl::IsFailedPrecondition(Register(spare));
  }
};

TEST_F(OlderSpareTest, IsRefusedOnceAMemberIsBack) { EXPECT_TRUE(IsTold()); }

TEST_F(OlderSpareTest, AManagerThatKeepsAnOlderSpareIsDetected) {
  faults::PlantFault("membership-forgets-what-is-in-force");
  EXPECT_FALSE(IsTold());
  faults::PlantFault("");
}

// No member was heard for a while, though the chain continued, and a restarted
// one without the features in force comes first.
class OlderMemberTest : public ManagerCoreTest {
 protected:
  ~OlderMemberTest() override { faults::PlantFault(""); }

  // The least level in force once the others are heard again.
  uint64_t InForceThen() {
    std::vector<Member> members = all_;
    for (Member& member : members) {
      member.agreement = {{"procedure p", {0, 1}}};
      EXPECT_EQ(Register(member), absl::OkStatus());
    }
    core_.OnViewStored(*core_.ProposeView(now_));
    now_ += 2 * kTimeout;
    older_ = Node("n3", 2);
    EXPECT_EQ(Register(older_, Condition::kReturned), absl::OkStatus());
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(Register(members[i], Condition::kSound), absl::OkStatus());
    }
    uint64_t least = 1;
    for (int i = 0; i < 40; ++i) {
      Pass(kBeat, {members[0], members[1]});
      if (!Beat("n3", 2).ok()) {
        Register(older_, Condition::kReturned).IgnoreError();
      }
      least = std::min(least, core_.view().in_force.at("procedure p"));
    }
    return least;
  }

  Member older_;
};

TEST_F(OlderMemberTest, LeavesFeaturesInForce) {
  EXPECT_EQ(InForceThen(), 1u);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
  EXPECT_EQ(Register(older_, Condition::kReturned).message(),
            "procedure p is missing at n3, but 1 in the chain; all nodes of a "
            "chain must have it in common");
}

TEST_F(OlderMemberTest, AManagerThatAcceptsAnOlderMemberIsDetected) {
  faults::PlantFault("membership-lets-an-older-member-in");
  EXPECT_EQ(InForceThen(), 0u);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
}

// Nor is a running member refused because another one returned before it.
TEST_F(OlderMemberTest, AMismatchedMemberDoesNotGetOthersRefused) {
  std::vector<Member> members = all_;
  for (Member& member : members) {
    member.agreement = {{"ring_mb", {64, 64}}};
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  now_ += 2 * kTimeout;
  Member other = Node("n3", 2);
  other.agreement = {{"ring_mb", {16, 16}}};
  EXPECT_EQ(Register(other, Condition::kReturned), absl::OkStatus());
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(Register(members[i], Condition::kSound), absl::OkStatus());
  }
  EXPECT_TRUE(absl::IsNotFound(Beat("n3", 2)));
  EXPECT_EQ(Register(other, Condition::kReturned).message(),
            "ring_mb is 16 at n3, but 64 at n1; all nodes of a chain must have "
            "it in common");
}

// An empty spare with other settings is back before the members are.
TEST_F(ManagerCoreTest, MembersOfTheViewDecideTheSettingsOfSpares) {
  const Agreement usual = {{"ring_mb", {32, 32}}};
  std::vector<Member> members = all_;
  for (Member& member : members) {
    member.agreement = usual;
    ASSERT_EQ(Register(member), absl::OkStatus());
  }
  core_.OnViewStored(*core_.ProposeView(now_));
  now_ += 2 * kTimeout;
  Member spare = Node("n5");
  spare.agreement = {{"ring_mb", {16, 16}}};
  Member like = Node("n4");
  like.agreement = usual;
  EXPECT_EQ(Register(spare), absl::OkStatus());
  EXPECT_EQ(Register(like), absl::OkStatus());
  for (Member& member : members) {
    ++member.incarnation;
    EXPECT_EQ(Register(member, Condition::kReturned), absl::OkStatus());
  }
  EXPECT_EQ(Beat("n4", 1, Condition::kFresh), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Beat("n5", 1, Condition::kFresh)));
  const absl::Status refused = Register(spare);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_EQ(refused.message(),
            "ring_mb is 16 at n5, but 32 at n1; all nodes of a chain must "
            "have it in common");
  // A member that returned without its data is outside as well.
  Member lost = Replacement("n3", 5);
  lost.agreement = spare.agreement;
  now_ += kTimeout;
  EXPECT_EQ(Register(lost), absl::OkStatus());
  members[0].incarnation++;
  EXPECT_EQ(Register(members[0], Condition::kReturned), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Beat("n3", 5, Condition::kFresh)));
}

// --- A copy of a running node's files.

TEST_F(ManagerCoreTest, ACopyAtAnotherAddressDoesNotReplaceALiveNode) {
  FormChain();
  Pass(kBeat, all_);
  Member copy = Node("n2", 2);
  copy.service_address = "n2:9";
  const absl::Status refused = Register(copy, Condition::kReturned);
  EXPECT_TRUE(absl::IsAlreadyExists(refused));
  EXPECT_NE(refused.message().find("n2 was alive at n2:1 a moment ago"),
            std::string::npos)
      << refused;
  Pass(kTimeout, all_);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  // At the same address the first one is dead.
  EXPECT_EQ(Register(Node("n2", 2), Condition::kReturned), absl::OkStatus());
}

// Two processes that start from copies of one folder are in the same life.
TEST_F(ManagerCoreTest, ACopyWithTheSameIncarnationIsRefused) {
  FormChain();
  Pass(kBeat, all_);
  Member copy = Node("n2");
  copy.service_address = "n2:9";
  const absl::Status refused = Register(copy, Condition::kReturned);
  EXPECT_TRUE(absl::IsAlreadyExists(refused));
  EXPECT_NE(refused.message().find("n2 runs at n2:1"), std::string::npos)
      << refused;
  // However long the other one was silent: it may be head.
  now_ += kTimeout - kMs;
  EXPECT_TRUE(absl::IsAlreadyExists(Register(copy, Condition::kReturned)));
  EXPECT_EQ(Register(all_[1], Condition::kSound), absl::OkStatus());
  // Also under a new leader, which knows it by the view alone.
  Lead(core_.view());
  EXPECT_TRUE(absl::IsUnavailable(Register(all_[0], Condition::kSound)));
  EXPECT_TRUE(absl::IsUnavailable(Register(all_[2], Condition::kSound)));
  EXPECT_TRUE(absl::IsAlreadyExists(Register(copy, Condition::kReturned)));
  EXPECT_EQ(Register(all_[1], Condition::kSound), absl::OkStatus());
}

// It keeps its place.
TEST_F(ManagerCoreTest, ANodeAtANewAddressWaitsForItsFormerLease) {
  FormChain();
  Pass(kBeat, all_);
  Member moved = Node("n2", 2);
  moved.service_address = "n2:9";
  Pass(Options().lease() - kMs, {all_[0], all_[2]});
  EXPECT_TRUE(absl::IsAlreadyExists(Register(moved, Condition::kReturned)));
  now_ += kMs;
  EXPECT_EQ(Register(moved, Condition::kReturned), absl::OkStatus());
  Pass(kBeat, {all_[0], all_[2]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.2 n3.1 ");
}

}  // namespace
}  // namespace kamino::membership
