#include "membership/manager/manager_core.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

TEST_F(ManagerCoreTest, FormsTheChainOnceEnoughNodesRegister) {
  EXPECT_EQ(Register(Node("n2")), absl::OkStatus());
  EXPECT_EQ(Register(Node("n3")), absl::OkStatus());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->id, 1u);
  EXPECT_EQ(view->cluster_id, "c");
  EXPECT_EQ(Names(*view), "n1.1 n2.1 n3.1 ");
  // The view is not in force before it is stored.
  EXPECT_FALSE(core_.view().formed());
  core_.OnViewStored(*view);
  EXPECT_EQ(core_.view(), *view);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
}

TEST_F(ManagerCoreTest, ADeadNodeDoesNotCountForTheFirstView) {
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  Pass(kTimeout, {});
  EXPECT_EQ(Register(Node("n2")), absl::OkStatus());
  EXPECT_EQ(Register(Node("n3")), absl::OkStatus());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
}

TEST_F(ManagerCoreTest, AProposedViewStaysUntilItIsStored) {
  FormChain();
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  now_ += kMs;
  const auto first = core_.ProposeView(now_);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(Names(*first), "n1.1 n2.1 ");
  // n1 dies as well, but a write of `first` may be under way.
  for (int i = 0; i < 15; ++i) {
    now_ += kBeat;
    EXPECT_EQ(Beat("n2"), absl::OkStatus());
    EXPECT_EQ(core_.ProposeView(now_), first);
  }
  core_.OnViewStored(*first);
  const auto second = core_.ProposeView(now_);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->id, 3u);
  EXPECT_EQ(Names(*second), "n2.1 ");
}

TEST_F(ManagerCoreTest, DropsANodeOnlyAfterTheWholeTimeout) {
  FormChain();
  Pass(kTimeout - kMs, {all_[0], all_[2]});
  EXPECT_EQ(core_.view().id, 1u);
  now_ += kMs;
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->id, 2u);
  EXPECT_EQ(Names(*view), "n1.1 n3.1 ");
}

TEST_F(ManagerCoreTest, TheLeaseIsShorterThanTheTimeout) {
  EXPECT_LT(core_.options().lease(), kTimeout * 0.9);
  // Some lost heartbeats must not cost it.
  EXPECT_GT(core_.options().lease(), kBeat * 3);
}

TEST_F(ManagerCoreTest, ASilentNodeGetsNoLeaseByAHeartbeat) {
  FormChain();
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  EXPECT_EQ(core_.view().id, 1u);
  now_ += kMs;
  EXPECT_TRUE(absl::IsNotFound(Beat("n3")));
}

TEST_F(ManagerCoreTest, AMemberBeingDroppedGetsNoLeaseUnderTheOldView) {
  FormChain();
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  now_ += kMs;
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_TRUE(absl::IsUnavailable(Register(Node("n3"))));
  // Another heap was never in the view: it may wait outside.
  EXPECT_EQ(Register(Replacement("n3", 2)), absl::OkStatus());
  core_.OnViewStored(*view);
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  // It gets the view that lacks it.
  EXPECT_EQ(Beat("n3", 2), absl::OkStatus());
  EXPECT_EQ(core_.view().IndexOf("n3", 2), -1);
}

TEST_F(ManagerCoreTest, ADroppedNodeStaysOutside) {
  FormChain();
  Pass(kTimeout, {all_[0], all_[1]});
  EXPECT_EQ(core_.view().id, 2u);
  EXPECT_EQ(Register(Node("n3")), absl::OkStatus());
  Pass(kTimeout * 2, all_);
  EXPECT_EQ(core_.view().id, 2u);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
}

TEST_F(ManagerCoreTest, ANodeThatLostItsHeapReturnsOutsideTheView) {
  FormChain();
  const Member again = Replacement("n2", 2);
  // The old process's lease may still run.
  EXPECT_TRUE(absl::IsAlreadyExists(Register(again)));
  Pass(kTimeout - kMs, {all_[0], all_[2]});
  EXPECT_TRUE(absl::IsAlreadyExists(Register(again)));
  EXPECT_EQ(core_.view().id, 1u);
  now_ += kMs;
  EXPECT_EQ(Register(again), absl::OkStatus());
  Pass(kBeat, {all_[0], all_[2], again});
  EXPECT_EQ(core_.view().id, 2u);
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
  // The manager sends the old process away, in case it was only paused.
  EXPECT_TRUE(absl::IsNotFound(Beat("n2", 1)));
  EXPECT_TRUE(absl::IsAlreadyExists(Register(Node("n2", 1))));
}

TEST_F(ManagerCoreTest, AQuickRebootKeepsItsPlace) {
  FormChain();
  // The old process's lease may seem to run, but the process is dead: otherwise
  // the new one could not have opened the heap.
  EXPECT_EQ(Register(Node("n2", 2), Condition::kTorn), absl::OkStatus());
  Pass(kBeat, {all_[0], Node("n2", 2), all_[2]});
  EXPECT_EQ(core_.view().id, 2u);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.2 n3.1 ");
  // A late report of the old process changes nothing.
  EXPECT_TRUE(absl::IsNotFound(Beat("n2", 1)));
  EXPECT_TRUE(absl::IsAlreadyExists(Register(Node("n2", 1))));
  EXPECT_EQ(core_.view().id, 2u);
}

TEST_F(ManagerCoreTest, ASlowRebootLosesItsPlace) {
  FormChain();
  Pass(kTimeout, {all_[0], all_[2]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
  EXPECT_EQ(Register(Node("n2", 2), Condition::kSound), absl::OkStatus());
  Pass(kBeat, {all_[0], all_[2], Node("n2", 2)});
  EXPECT_EQ(core_.view().id, 2u);
  // It must join as a new node.
  EXPECT_TRUE(core_.ShouldJoin("n2", now_));
  EXPECT_FALSE(core_.ShouldJoin("n1", now_));
  EXPECT_EQ(Beat("n2", 2, Condition::kBehind, 1), absl::OkStatus());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());  // of an older view
  EXPECT_EQ(Beat("n2", 2, Condition::kBehind, 2), absl::OkStatus());
  const auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Names(*view), "n1.1 n3.1 n2.2 ");
}

TEST_F(ManagerCoreTest, NoNodeIsRemovedBeforeTheFirstView) {
  ASSERT_EQ(Register(Node("n1")), absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.removals().Exclude("n1", Removal::kNow, now_)));
}

TEST_F(ManagerCoreTest, ARemovedNodeLeavesOnceItsLeaseIsOver) {
  FormChain();
  EXPECT_TRUE(
      absl::IsNotFound(core_.removals().Exclude("n9", Removal::kNow, now_)));
  ASSERT_EQ(core_.removals().Exclude("n3", Removal::kNow, now_),
            absl::OkStatus());
  // It may hold a lease: it gets no other, and is dropped once that is over.
  EXPECT_TRUE(absl::IsNotFound(Beat("n3")));
  EXPECT_TRUE(absl::IsUnavailable(Register(all_[2])));
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  Pass(kBeat, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
  EXPECT_EQ(core_.view().excluded.count("n3"), 1u);
  // It stays outside, also under a new leader, until it may come back.
  EXPECT_EQ(Register(all_[2]), absl::OkStatus());
  EXPECT_FALSE(core_.ShouldJoin("n3", now_));
  Lead(core_.view());
  EXPECT_EQ(Register(all_[2]), absl::OkStatus());
  EXPECT_FALSE(core_.ShouldJoin("n3", now_));
  core_.removals().Include("n3");
  EXPECT_TRUE(core_.ShouldJoin("n3", now_));
  HearMembers();
  Pass(Options().takeover_grace, all_);
  EXPECT_TRUE(core_.view().excluded.empty());
}

TEST_F(ManagerCoreTest, AMemberThatTheChainNeedsIsNotRemoved) {
  FormChain();
  Pass(kBeat, all_);
  ASSERT_EQ(core_.removals().Exclude("n1", Removal::kNow, now_),
            absl::OkStatus());
  // That would leave one member, also while the first one is still there.
  const absl::Status last = core_.removals().Exclude("n2", Removal::kNow, now_);
  EXPECT_TRUE(absl::IsFailedPrecondition(last));
  EXPECT_THAT(std::string(last.message()), ::testing::HasSubstr("at n3 alone"));
  ASSERT_EQ(core_.removals().Exclude("n2", Removal::kForced, now_),
            absl::OkStatus());
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.removals().Exclude("n3", Removal::kForced, now_)));
}

TEST_F(ManagerCoreTest, ADrainedNodeLeavesOnceASpareHasItsPlace) {
  FormChain();
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.removals().Exclude("n1", Removal::kDrain, now_)));
  ASSERT_EQ(Register(Node("n4")), absl::OkStatus());
  EXPECT_FALSE(core_.ShouldJoin("n4", now_));  // the chain is complete
  ASSERT_EQ(core_.removals().Exclude("n1", Removal::kDrain, now_),
            absl::OkStatus());
  EXPECT_TRUE(core_.ShouldJoin("n4", now_));
  Pass(kTimeout * 2, all_);  // no node is there yet
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  ASSERT_EQ(Register(Node("n4")), absl::OkStatus());
  ASSERT_EQ(Beat("n4", 1, Condition::kBehind, core_.view().id),
            absl::OkStatus());
  auto view = core_.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  core_.OnViewStored(*view);
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 n4.1 ");
  // Not before that one holds everything.
  ASSERT_EQ(Beat("n4", 1, Condition::kBehind), absl::OkStatus());
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  ASSERT_EQ(Beat("n4", 1, Condition::kSound), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Beat("n1")));
  Pass(kTimeout, {all_[1], all_[2], Node("n4")});
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 n4.1 ");
}

TEST_F(ManagerCoreTest, TwoTornMembersContinueAfterAPowerCut) {
  FormChain();
  Pass(kTimeout * 2, {});
  EXPECT_EQ(Register(Node("n2", 2), Condition::kTorn), absl::OkStatus());
  Pass(kTimeout * 3, {Node("n2", 2)}, Condition::kTorn);
  EXPECT_EQ(core_.view().id, 1u);
  EXPECT_EQ(core_.registry().WaitingFor(now_),
            std::vector<std::string>({"n1", "n3"}));
  EXPECT_EQ(Register(Node("n3", 2), Condition::kTorn), absl::OkStatus());
  EXPECT_TRUE(core_.registry().WaitingFor(now_).empty());
  Pass(kTimeout + kBeat, {Node("n2", 2), Node("n3", 2)}, Condition::kTorn);
  EXPECT_EQ(Names(core_.view()), "n2.2 n3.2 ");
}

// Its process is there, but not its data: the others wait for that.
TEST_F(ManagerCoreTest, TheChainWaitsForMembersThatReturnedWithoutData) {
  FormChain();
  Pass(kTimeout * 2, {});
  EXPECT_EQ(Register(Replacement("n1", 2)), absl::OkStatus());
  EXPECT_EQ(Register(Replacement("n2", 2)), absl::OkStatus());
  EXPECT_EQ(core_.registry().WaitingFor(now_),
            std::vector<std::string>({"n3"}));
  EXPECT_EQ(Register(Replacement("n3", 2)), absl::OkStatus());
  EXPECT_EQ(core_.registry().WaitingFor(now_),
            std::vector<std::string>({"n1", "n2", "n3"}));
  EXPECT_EQ(core_.view().id, 1u);
  faults::PlantFault("membership-forgets-whose-data");
  EXPECT_TRUE(core_.registry().WaitingFor(now_).empty());
  faults::PlantFault("");
}

TEST_F(ManagerCoreTest, ARepeatedRegistrationCountsOnce) {
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  EXPECT_EQ(core_.nodes(now_).size(), 1u);
}

TEST_F(ManagerCoreTest, SilenceOfAllMembersDropsNone) {
  FormChain();
  Pass(kTimeout * 3, {});
  EXPECT_EQ(core_.view().id, 1u);
  // The node that returns first must not become the whole chain.
  EXPECT_EQ(Register(all_[1]), absl::OkStatus());
  Pass(kTimeout * 0.5, {all_[1]});
  EXPECT_EQ(core_.view().id, 1u);
  EXPECT_EQ(Register(all_[0]), absl::OkStatus());
  // The time for the third is over.
  Pass(kTimeout, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
}

TEST_F(ManagerCoreTest, SilenceThatBeginsBetweenHeartbeatsDropsNoMember) {
  FormChain();
  for (const Member& member : all_) {
    now_ += kBeat / 3;
    EXPECT_EQ(Beat(member.node_id), absl::OkStatus());
  }
  for (const absl::Time end = now_ + kTimeout * 3; now_ < end; now_ += kMs) {
    EXPECT_FALSE(core_.ProposeView(now_).has_value());
  }
  // All return within the time that the first one's return gives them.
  for (const Member& member : all_) {
    EXPECT_EQ(Register(member), absl::OkStatus());
    EXPECT_FALSE(core_.ProposeView(now_).has_value());
    now_ += kTimeout * 0.3;
  }
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  EXPECT_EQ(core_.view().id, 1u);
}

TEST_F(ManagerCoreTest, AStalledManagerDropsNoMember) {
  FormChain();
  Pass(kBeat, all_);
  now_ += kTimeout * 2;  // nothing was called: this process stood still
  EXPECT_TRUE(absl::IsNotFound(Beat("n1")));
  EXPECT_EQ(Register(all_[0]), absl::OkStatus());
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  Pass(kBeat, {all_[0]});
  EXPECT_EQ(Register(all_[1]), absl::OkStatus());
  EXPECT_EQ(Register(all_[2]), absl::OkStatus());
  Pass(kTimeout * 2, all_);
  EXPECT_EQ(core_.view().id, 1u);
}

TEST_F(ManagerCoreTest, ANewLeaderGivesEveryMemberTime) {
  FormChain();
  const View stored = core_.view();
  core_.LoseLeadership();
  now_ += absl::Seconds(60);
  Lead(stored);
  EXPECT_EQ(core_.view(), stored);
  // A member need not register again; n3 is dead. So the others get no lease
  // yet, but count as heard.
  Pass(kTimeout - kMs, {all_[0], all_[1]}, Condition::kSound,
       absl::StatusCode::kUnavailable);
  EXPECT_EQ(core_.view().id, 1u);
  // A node with another heap waits until leases of the last leader are over.
  EXPECT_TRUE(absl::IsAlreadyExists(Register(Replacement("n3", 2))));
  Pass(kMs, {all_[0], all_[1]});
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 ");
}

// As it was told of longer leases, or does not know when its predecessor ended.
TEST_F(ManagerCoreTest, ANewLeaderDropsNoMemberBeforeFormerLeasesAreOver) {
  FormChain();
  ManagerCore next(Options());
  next.BecomeLeader(core_.view(), 5 * kTimeout, now_);
  next.ExtendLeadership(absl::InfiniteFuture());
  const auto beat = [&](const std::string& id) {
    return next.Heartbeat("c", {id, 1, {1, Condition::kSound, 0}}, now_);
  };
  // It renews leases once it has heard all members.
  EXPECT_TRUE(absl::IsUnavailable(beat("n1")));
  EXPECT_TRUE(absl::IsUnavailable(beat("n2")));
  EXPECT_EQ(beat("n3"), absl::OkStatus());
  const absl::Time over = now_ + 5 * kTimeout;
  for (; now_ < over; now_ += kBeat) {
    EXPECT_EQ(beat("n1"), absl::OkStatus());
    EXPECT_EQ(beat("n2"), absl::OkStatus());
    EXPECT_FALSE(next.ProposeView(now_).has_value()) << over - now_;
  }
  for (int i = 0; i < 10; ++i, now_ += kBeat) {
    EXPECT_EQ(beat("n1"), absl::OkStatus());
    EXPECT_EQ(beat("n2"), absl::OkStatus());
  }
  const auto view = next.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Names(*view), "n1.1 n2.1 ");
}

// Nodes need time to find the new leader, however short the timeout is; it
// grants no lease meanwhile.
TEST_F(ManagerCoreTest, NodesHaveTimeToFindANewLeader) {
  ManagerOptions options = Options();
  options.failure_timeout = 20 * kMs;
  options.heartbeat_interval = 2 * kMs;
  options.takeover_grace = 300 * kMs;
  FormChain();
  ManagerCore next(options);
  next.BecomeLeader(core_.view(), options.lease(), now_);
  next.ExtendLeadership(absl::InfiniteFuture());
  const absl::Time leases = now_ + options.takeover_grace;
  const absl::Time found = now_ + options.takeover_grace - 2 * kMs;
  const auto beat = [&](const std::string& id) {
    const absl::Status answer = next.Heartbeat(
        "c", {id, 1, next.view().id, Condition::kSound, 0}, now_);
    EXPECT_EQ(answer.code(), now_ < leases ? absl::StatusCode::kUnavailable
                                           : absl::StatusCode::kOk);
  };
  for (; now_ < found; now_ += 2 * kMs) {
    beat("n1");
    EXPECT_FALSE(next.ProposeView(now_).has_value());
  }
  // Just in time; n3 never finds it. A node that was silent registers again.
  EXPECT_TRUE(absl::IsUnavailable(
      next.Register("c", Node("n2"), {.condition = Condition::kSound}, now_)));
  now_ = found + 2 * kMs;
  beat("n1");
  const auto view = next.ProposeView(now_);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(Names(*view), "n1.1 n2.1 ");
}

TEST_F(ManagerCoreTest, AManagerThatDoesNotLeadDecidesNothing) {
  FormChain();
  core_.ExtendLeadership(now_ + kBeat);
  EXPECT_TRUE(core_.IsLeader(now_ + kBeat - kMs));
  EXPECT_FALSE(core_.IsLeader(now_ + kBeat));
  Pass(kTimeout * 2, {});
  EXPECT_EQ(Register(all_[0]), absl::OkStatus());
  now_ += kTimeout * 0.4;
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  now_ += kTimeout * 0.4;
  EXPECT_EQ(Beat("n1"), absl::OkStatus());
  now_ += kTimeout * 0.4;
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  core_.ExtendLeadership(absl::InfiniteFuture());
  EXPECT_TRUE(core_.ProposeView(now_).has_value());
}

TEST_F(ManagerCoreTest, AFormerLeaderForgetsItsProposal) {
  FormChain();
  Pass(kTimeout - kMs, {all_[0], all_[1]});
  now_ += kMs;
  ASSERT_TRUE(core_.ProposeView(now_).has_value());
  const View stored = core_.view();
  core_.LoseLeadership();
  EXPECT_FALSE(core_.IsLeader(now_));
  // The stored view counts, whether its write was refused or not.
  Lead(stored);
  EXPECT_FALSE(core_.ProposeView(now_).has_value());
  HearMembers();
  EXPECT_EQ(Beat("n3"), absl::OkStatus());
}

TEST_F(ManagerCoreTest, RefusesRegistrationsWithMissingFields) {
  for (int field = 0; field < 6; ++field) {
    Member member = Node("n1");
    if (field == 0) member.node_id.clear();
    if (field == 1) member.incarnation = 0;
    if (field == 2) member.service_address.clear();
    if (field == 3) member.link_addresses.clear();
    if (field == 4) member.heap_bytes = 0;
    if (field == 5) member.heap_id.clear();
    EXPECT_TRUE(absl::IsInvalidArgument(Register(member))) << field;
  }
  EXPECT_TRUE(core_.nodes(now_).empty());
}

TEST_F(ManagerCoreTest, RefusesRegistrationsWithOverlongFields) {
  for (int field = 0; field < 4; ++field) {
    Member member = Node("n1");
    const std::string name(Registrations::kMaxNameBytes + 1, 'x');
    const std::string address(kMaxAddressBytes + 1, 'x');
    if (field == 0) member.node_id = name;
    if (field == 1) member.service_address = address;
    if (field == 2) member.link_addresses["tcp"] = address;
    if (field == 3) {
      for (size_t i = 0; i < Registrations::kMaxLinkAddresses; ++i) {
        member.link_addresses[std::to_string(i)] = "a:1";
      }
    }
    EXPECT_TRUE(absl::IsInvalidArgument(Register(member))) << field;
  }
  EXPECT_TRUE(core_.nodes(now_).empty());
}

TEST_F(ManagerCoreTest, RefusesAnotherCluster) {
  EXPECT_TRUE(absl::IsFailedPrecondition(
      core_.Register("d", Node("n1"), {.condition = Condition::kFresh}, now_)));
  FormChain();
  EXPECT_TRUE(absl::IsNotFound(core_.Heartbeat("d", {"n1", 1, {1}}, now_)));
}

TEST_F(ManagerCoreTest, RefusesAnotherHeapSize) {
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  Member bigger = Node("n4");
  bigger.heap_bytes *= 2;
  EXPECT_TRUE(absl::IsFailedPrecondition(Register(bigger)));
  FormChain();
  Pass(kTimeout * 2, {all_[1]});
  // Also when the node it was compared with is gone.
  EXPECT_TRUE(absl::IsFailedPrecondition(Register(bigger)));
}

TEST_F(ManagerCoreTest, TheHeapSizeOfADeadCandidateBindsNoNode) {
  EXPECT_EQ(Register(Node("n1")), absl::OkStatus());
  now_ += kTimeout;
  Member bigger = Node("n4");
  bigger.heap_bytes *= 2;
  EXPECT_EQ(Register(bigger), absl::OkStatus());
}

TEST_F(ManagerCoreTest, RegistrationsAreBounded) {
  FormChain();
  EXPECT_EQ(Register(Node("n4")), absl::OkStatus());
  EXPECT_EQ(Register(Node("n5")), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Register(Node("n6"))));
  Pass(kTimeout, {all_[0], all_[1], all_[2], Node("n4")});
  // n5 is dead and outside the view; members of the view are never forgotten.
  EXPECT_EQ(Register(Node("n6")), absl::OkStatus());
  EXPECT_TRUE(absl::IsResourceExhausted(Register(Node("n7"))));
  EXPECT_TRUE(absl::IsNotFound(Beat("n5")));
  EXPECT_EQ(core_.nodes(now_).size(), 5u);
}

TEST_F(ManagerCoreTest, DescribesTheKnownNodes) {
  FormChain();
  Pass(kTimeout, {all_[0], all_[1]});
  const auto known = core_.nodes(now_);
  ASSERT_EQ(known.size(), 3u);
  EXPECT_TRUE(known[0].state.alive);
  EXPECT_EQ(known[0].state.member, all_[0]);
  EXPECT_EQ(known[0].silent, absl::ZeroDuration());
  EXPECT_EQ(known[0].state.report.view_id, 1u);
  EXPECT_FALSE(known[2].state.alive);
  EXPECT_EQ(known[2].silent, kTimeout);
}

}  // namespace
}  // namespace kamino::membership
