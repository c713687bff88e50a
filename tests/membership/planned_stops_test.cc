// Planned stops of members: which view follows, what they are told, and how
// long their places are kept.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/chain_mode.h"
#include "gtest/gtest.h"
#include "membership/manager/next_view.h"
#include "membership/manager/stop_permissions.h"
#include "membership/records.h"
#include "tests/faults/fault.h"
#include "tests/membership/manager_core_fixture.h"

namespace kamino::membership {
namespace {

// --- The decisions, for all states that each of four members can be in.

enum At {
  kServes,
  kAsks,
  kSurrendered,
  kEnded,  // it surrendered, and is silent
  kDied,
  kReturned,  // started again
  kCatchesUp,
  kAts,
};
constexpr int kMembers = 4;

std::string Id(int i) { return "n" + std::to_string(i + 1); }

View ViewOf(int members, ChainMode mode) {
  View view;
  view.cluster_id = "c";
  view.id = 7;
  for (int i = 0; i < members; ++i) view.members.push_back(Node(Id(i)));
  view.in_force[std::string(kChainModeTerm)] = static_cast<uint64_t>(mode);
  return view;
}

KnownNodes NodesAt(const std::vector<At>& at) {
  KnownNodes nodes;
  for (size_t i = 0; i < at.size(); ++i) {
    KnownNode node;
    node.member = Node(Id(static_cast<int>(i)), at[i] == kReturned ? 2 : 1);
    node.alive = at[i] != kSurrendered && at[i] != kEnded && at[i] != kDied;
    node.report.condition = at[i] == kReturned    ? Condition::kReturned
                            : at[i] == kCatchesUp ? Condition::kBehind
                                                  : Condition::kSound;
    node.report.stopping = at[i] == kAsks ? Stopping::kAsks
                           : at[i] == kSurrendered || at[i] == kEnded
                               ? Stopping::kSurrendered
                               : Stopping::kNo;
    nodes[node.member.node_id] = node;
  }
  return nodes;
}

template <typename Check>
void ForAll(Check check) {
  int total = 1;
  for (int i = 0; i < kMembers; ++i) total *= kAts;
  for (ChainMode mode :
       {ChainMode::kKamino, ChainMode::kTraditional, ChainMode::kImages}) {
    for (int code = 0; code < total; ++code) {
      std::vector<At> at;
      std::string text = std::string(ChainModeName(mode));
      for (int i = 0, rest = code; i < kMembers; ++i, rest /= kAts) {
        at.push_back(static_cast<At>(rest % kAts));
        text += " " + std::to_string(at.back());
      }
      SCOPED_TRACE(text);
      check(mode, at);
      if (testing::Test::HasFailure()) return;
    }
  }
}

bool HasStopped(At at) { return at == kSurrendered || at == kEnded; }

TEST(PlannedStopTest, AStoppedMemberStaysInTheViewIfTooFewWouldRemain) {
  int kept = 0;
  int left_out = 0;
  ForAll([&](ChainMode mode, const std::vector<At>& at) {
    const View view = ViewOf(kMembers, mode);
    const KnownNodes nodes = NodesAt(at);
    const auto next = NextView(view, nodes, kMembers);
    if (!next.has_value()) return;
    size_t holding = 0;
    bool stopped_left_out = false;
    for (int i = 0; i < kMembers; ++i) {
      const bool stays =
          next->IndexOf(Id(i), 1) >= 0 || next->IndexOf(Id(i), 2) >= 0;
      holding += stays && (at[i] == kServes || at[i] == kReturned);
      stopped_left_out |= HasStopped(at[i]) && !stays;
      if (HasStopped(at[i])) {
        // The view remembers it in any case.
        ASSERT_EQ(next->away.count(Id(i)), 1u);
        EXPECT_EQ(next->away.at(Id(i)).incarnation, 1u);
        EXPECT_EQ(next->away.at(Id(i)).heap_id, view.members[i].heap_id);
        EXPECT_EQ(next->away.at(Id(i)).view_id, next->id);
        EXPECT_EQ(next->away.at(Id(i)).was_head, i == 0);
      } else {
        EXPECT_EQ(next->away.count(Id(i)), 0u);
      }
      // A serving member stays, unless it would be the first and lacks
      // something.
      if (at[i] == kServes || at[i] == kAsks) {
        EXPECT_TRUE(stays);
      }
    }
    left_out += stopped_left_out;
    if (stopped_left_out) {
      EXPECT_GE(holding, LeastMembers(mode));
      EXPECT_TRUE(CanContinue(view, nodes));
    }
    // All wait: no member is left out then, and no node taken in.
    const bool any_kept = std::any_of(
        next->away.begin(), next->away.end(), [&](const auto& each) {
          return next->IndexOf(each.first, each.second.incarnation) >= 0;
        });
    kept += any_kept;
    if (any_kept) {
      EXPECT_EQ(next->members, view.members);
      EXPECT_FALSE(next->handed_over());
    } else {
      EXPECT_EQ(next->handed_over(), HasStopped(at[0]));
    }
  });
  EXPECT_GT(kept, 0);
  EXPECT_GT(left_out, 0);
}

TEST(PlannedStopTest, AFixedPointIsReachedInOneStep) {
  int decided = 0;
  ForAll([&](ChainMode mode, const std::vector<At>& at) {
    const View view = ViewOf(kMembers, mode);
    KnownNodes nodes = NodesAt(at);
    auto next = NextView(view, nodes, kMembers);
    if (!next.has_value()) return;
    ++decided;
    next->in_force = view.in_force;
    const auto after = NextView(*next, nodes, kMembers);
    EXPECT_FALSE(after.has_value()) << after->ToString();
  });
  EXPECT_GT(decided, 0);
}

TEST(PlannedStopTest, OnlyPlannedStopsAreHandedOverAtOnce) {
  int handed_over = 0;
  ForAll([&](ChainMode mode, const std::vector<At>& at) {
    const View view = ViewOf(kMembers, mode);
    const KnownNodes nodes = NodesAt(at);
    const auto next = NextView(view, nodes, kMembers);
    if (!next.has_value() || !IsHandover(view, *next, nodes)) return;
    ++handed_over;
    for (int i = 0; i < kMembers; ++i) {
      const bool stays = next->IndexOf(Id(i), 1) >= 0;
      EXPECT_TRUE(stays || HasStopped(at[i]));
      EXPECT_EQ(next->IndexOf(Id(i), 2), -1);
    }
  });
  EXPECT_GT(handed_over, 0);
}

TEST(PlannedStopTest, AMemberMayStopOnlyIfEnoughOthersAreSound) {
  ForAll([](ChainMode mode, const std::vector<At>& at) {
    const StopPermission permission =
        PermissionOf(ViewOf(kMembers, mode), NodesAt(at));
    size_t sound = 0;
    size_t there = 0;
    for (At each : at) {
      sound += each == kServes;
      there += each == kServes || each == kReturned || each == kCatchesUp;
    }
    EXPECT_EQ(permission == StopPermission::kGo,
              there == sound && sound >= LeastMembers(mode));
    EXPECT_EQ(permission == StopPermission::kStay, there < LeastMembers(mode));
  });
}

TEST(PlannedStopTest, TheLastMembersStayInTheView) {
  const View view = ViewOf(2, ChainMode::kKamino);
  const KnownNodes nodes = NodesAt({kServes, kEnded});
  const auto next = NextView(view, nodes, 2);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->members.size(), 2u);
  faults::PlantFault("view-removes-the-last-that-stop");
  EXPECT_EQ(NextView(view, nodes, 2)->members.size(), 1u);
  faults::PlantFault("");
  // Unless an operator wants the chain to continue without it.
  const auto forced = NextView(*next, nodes, 2, {{"n2", false}});
  ASSERT_TRUE(forced.has_value());
  EXPECT_EQ(Names(*forced), "n1.1 ");
  EXPECT_TRUE(forced->away.empty());
}

TEST(PlannedStopTest, NoSpareTakesThePlaceOfAnAwayMember) {
  View view = ViewOf(2, ChainMode::kKamino);
  view.away["n3"] = {1, "heap", 7, false};
  KnownNodes nodes = NodesAt({kServes, kServes});
  nodes["n0"] = {Node("n0"), true, {.condition = Condition::kSound}};
  EXPECT_EQ(NextToJoin(view, nodes, 3, ""), "");
  EXPECT_EQ(NextToJoin(view, nodes, 4, ""), "n0");
  faults::PlantFault("view-gives-places-away");
  EXPECT_EQ(NextToJoin(view, nodes, 3, ""), "n0");
  faults::PlantFault("");
  // Nor does a spare that has caught up already.
  nodes["n0"].report = {.condition = Condition::kBehind,
                        .caught_up_view = view.id};
  EXPECT_FALSE(NextView(view, nodes, 3).has_value());
  EXPECT_EQ(Names(*NextView(view, nodes, 4)), "n1.1 n2.1 n0.1 ");
  // A member's own place comes before others.
  nodes["n3"] = {Node("n3", 2), true, {.condition = Condition::kSound}};
  EXPECT_EQ(NextToJoin(view, nodes, 3, ""), "n3");
  EXPECT_EQ(NextToJoin(view, nodes, 4, ""), "n3");
  nodes["n3"].report = {.condition = Condition::kBehind,
                        .caught_up_view = view.id};
  nodes.erase("n0");
  const auto next = NextView(view, nodes, 3);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(Names(*next), "n1.1 n2.1 n3.2 ");
  EXPECT_TRUE(next->away.empty());
  // A removed node is not away.
  view.away["n4"] = {1, "heap", 7, false};
  EXPECT_EQ(NextView(view, nodes, 4, {{"n4", false}})->away.count("n4"), 0u);
}

TEST(PlannedStopTest, AwayMembersAreStoredWithTheView) {
  View view = ViewOf(2, ChainMode::kKamino);
  view.away["n3"] = {5, "heap", 6, true};
  EXPECT_EQ(FromProto(ToProto(view)), view);
}

// --- When a member that asks may stop.

TEST(StopPermissionsTest, AStopWaitsOnlyBrieflyForASilentMember) {
  for (ChainMode mode : {ChainMode::kKamino, ChainMode::kImages}) {
    const View view = ViewOf(4, mode);
    const KnownNodes nodes = NodesAt({kAsks, kServes, kServes, kServes});
    StopPermissions stop_permissions(kBeat * 3);
    absl::Time now = absl::UnixEpoch();
    const auto answer = [&] {
      return stop_permissions.Answer(view, nodes, {}, view.members[0], now);
    };
    EXPECT_EQ(answer(), StopPermission::kWait);
    const auto enough_call = [&] {
      for (uint64_t i = 1; i <= LeastMembers(mode); ++i) {
        stop_permissions.CallAgainAfter(view, nodes, Id(static_cast<int>(i)),
                                        now);
      }
    };
    enough_call();
    EXPECT_EQ(answer(), StopPermission::kWait);
    // The others may have died since.
    now += kBeat * 3;
    EXPECT_EQ(answer(), StopPermission::kWait);
    enough_call();
    EXPECT_EQ(answer(), StopPermission::kGo);
  }
}

TEST(StopPermissionsTest, AMemberStopsOnlyAfterEnoughOthersCall) {
  for (ChainMode mode : {ChainMode::kKamino, ChainMode::kImages}) {
    // The others have died, and the manager does not know yet.
    const auto least = static_cast<int>(LeastMembers(mode));
    const View view = ViewOf(least + 1, mode);
    std::vector<At> at(view.members.size(), kServes);
    at[0] = kAsks;
    const KnownNodes nodes = NodesAt(at);
    StopPermissions stop_permissions(kBeat * 3);
    absl::Time now = absl::UnixEpoch();
    const auto answer = [&] {
      return stop_permissions.Answer(view, nodes, {}, view.members[0], now);
    };
    EXPECT_EQ(answer(), StopPermission::kWait);
    for (int i = 1; i < least; ++i) {
      stop_permissions.CallAgainAfter(view, nodes, Id(i), now);
    }
    now += kBeat * 3;
    EXPECT_EQ(answer(), StopPermission::kWait);
    faults::PlantFault("membership-lets-the-last-copy-go");
    EXPECT_EQ(answer(), StopPermission::kGo);
    faults::PlantFault("");
  }
}

// Its process was restarted on the heap, whose state it receives anew.
TEST(StopPermissionsTest, AMemberWithoutTheDataDoesNotCount) {
  const View view = ViewOf(4, ChainMode::kKamino);
  View next = view;
  next.members.erase(next.members.begin());
  KnownNodes nodes = NodesAt({kSurrendered, kServes, kServes, kReturned});
  StopPermissions stop_permissions(kBeat * 3);
  const absl::Time now = absl::UnixEpoch();
  // n2 has died, and the manager does not know yet.
  for (int i : {2, 3}) stop_permissions.CallAgainAfter(view, nodes, Id(i), now);
  EXPECT_TRUE(stop_permissions.MayFollow(view, next, nodes, {}, now));
  nodes[Id(3)].report.condition = Condition::kReceiving;
  EXPECT_FALSE(stop_permissions.MayFollow(view, next, nodes, {}, now));
  faults::PlantFault("membership-counts-empty-members");
  EXPECT_TRUE(stop_permissions.MayFollow(view, next, nodes, {}, now));
  faults::PlantFault("");
}

TEST(StopPermissionsTest, AMemberStaysOnceTheOthersAreKnownToBeDead) {
  const View view = ViewOf(2, ChainMode::kTraditional);
  StopPermissions stop_permissions(kBeat * 3);
  const absl::Time now = absl::UnixEpoch();
  EXPECT_EQ(stop_permissions.Answer(view, NodesAt({kServes, kAsks}), {},
                                    view.members[1], now),
            StopPermission::kWait);
  EXPECT_EQ(stop_permissions.Answer(view, NodesAt({kDied, kAsks}), {},
                                    view.members[1], now),
            StopPermission::kStay);
}

// --- The manager.

class ManagerStopTest : public ManagerCoreTest {
 protected:
  void SetUp() override {
    FormChain();
    Pass(kBeat * 3, all_);
  }

  absl::Status Say(const std::string& id, Stopping stopping,
                   Condition condition = Condition::kSound) {
    NodeReport report{core_.view().id, condition};
    report.stopping = stopping;
    return core_.Heartbeat("c", {id, 1, report}, now_);
  }
  StopPermission Ask(const std::string& id) {
    EXPECT_TRUE(Say(id, Stopping::kAsks).ok());
    return core_.stops().PermissionFor(id, now_);
  }
  // All others are told to ask often.
  void TellOthers(const std::string& but) {
    for (const Member& member : core_.view().members) {
      if (member.node_id == but) continue;
      EXPECT_TRUE(Beat(member.node_id, member.incarnation).ok());
      EXPECT_EQ(core_.stops().CallAgainAfter(member.node_id, now_),
                StopPermissions::kLook);
    }
  }
  bool Store() {
    auto view = core_.ProposeView(now_);
    if (view.has_value()) core_.OnViewStored(*view);
    return view.has_value();
  }
  void HandOver(const std::string& id) {
    EXPECT_EQ(Ask(id), StopPermission::kWait);
    TellOthers(id);
    EXPECT_EQ(Ask(id), StopPermission::kGo);
    EXPECT_TRUE(Say(id, Stopping::kSurrendered).ok());
    EXPECT_EQ(core_.stops().PermissionFor(id, now_), StopPermission::kWait);
    EXPECT_TRUE(Store());
    EXPECT_EQ(core_.stops().PermissionFor(id, now_), StopPermission::kGo);
  }
};

TEST_F(ManagerStopTest, AStoppedMemberIsAwayAtOnce) {
  EXPECT_EQ(core_.stops().CallAgainAfter("n2", now_), absl::ZeroDuration());
  HandOver("n1");
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
  EXPECT_TRUE(core_.view().handed_over());
  EXPECT_EQ(core_.places().AwayLeft("n1", now_), Options().away_limit);
  EXPECT_EQ(core_.stops().CallAgainAfter("n2", now_), absl::ZeroDuration());
  // An earlier report of the member arrives late.
  EXPECT_TRUE(Say("n1", Stopping::kAsks).ok());
  EXPECT_EQ(core_.stops().PermissionFor("n1", now_), StopPermission::kGo);
}

TEST_F(ManagerStopTest, TheSecondStoppedMemberOfThreeKeepsItsPlace) {
  HandOver("n2");
  EXPECT_EQ(Ask("n1"), StopPermission::kStay);
  EXPECT_TRUE(Say("n1", Stopping::kSurrendered).ok());
  EXPECT_TRUE(Store());
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
  EXPECT_EQ(core_.stops().PermissionFor("n1", now_), StopPermission::kStay);
  // All wait, for as long as its place is kept.
  Pass(Options().away_limit - kBeat * 2, {Node("n3")});
  EXPECT_EQ(Names(core_.view()), "n1.1 n3.1 ");
  EXPECT_EQ(core_.registry().WaitingFor(now_), std::vector<std::string>{"n1"});
  Pass(kTimeout * 2, {Node("n3")});
  EXPECT_EQ(Names(core_.view()), "n3.1 ");
  EXPECT_TRUE(core_.registry().WaitingFor(now_).empty());
}

TEST_F(ManagerStopTest, AllMembersStopAtOnceAndReturn) {
  for (const char* id : {"n1", "n2", "n3"}) Ask(id);
  for (const char* id : {"n1", "n2", "n3"}) {
    EXPECT_EQ(Ask(id), StopPermission::kStay);
    EXPECT_TRUE(Say(id, Stopping::kSurrendered).ok());
    Store();
  }
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  Pass(absl::Minutes(1), {});
  for (const char* id : {"n3", "n1", "n2"}) {
    EXPECT_TRUE(Return(id, {}).ok());
    Store();
  }
  Pass(kTimeout * 3, {Node("n1", 2), Node("n2", 2), Node("n3", 2)},
       Condition::kReturned);
  EXPECT_EQ(Names(core_.view()), "n1.2 n2.2 n3.2 ");
  EXPECT_TRUE(core_.view().away.empty());
}

// The view names only processes that have ended. A restarted process counts as
// a member that stays, so the one that is gone is left out.
TEST_F(ManagerStopTest, ReturnedMembersContinueWithoutAMissingOne) {
  for (const char* id : {"n1", "n2", "n3"}) Ask(id);
  for (const char* id : {"n1", "n2", "n3"}) {
    EXPECT_TRUE(Say(id, Stopping::kSurrendered).ok());
  }
  for (const char* id : {"n1", "n2"}) EXPECT_TRUE(Return(id, {}).ok());
  const auto pass = [this] {
    Pass(kTimeout * 3, {Node("n1", 2), Node("n2", 2)}, Condition::kReturned);
  };
  faults::PlantFault("membership-counts-no-member-that-came-back");
  pass();
  EXPECT_EQ(Names(core_.view()), "n1.1 n2.1 n3.1 ");
  faults::PlantFault("");
  pass();
  EXPECT_EQ(Names(core_.view()), "n1.2 n2.2 ");
}

TEST_F(ManagerStopTest, ANewLeaderContinuesToCountAwayTimes) {
  HandOver("n1");
  Pass(absl::Minutes(2), {Node("n2"), Node("n3")});
  const auto times = core_.places().away_times(now_);
  EXPECT_EQ(times.at("n1"), absl::Minutes(2));
  core_.LoseLeadership();
  Lead(core_.view());
  core_.places().NoteAway(times, now_);
  EXPECT_EQ(core_.places().AwayLeft("n1", now_), absl::Minutes(3));
}

// It hears of the surrender before it hears other members: the store may be
// old.
TEST_F(ManagerStopTest, ANewLeaderHandsOverOnceItHasHeardAll) {
  const View view = core_.view();
  core_.LoseLeadership();
  Lead(view);
  EXPECT_TRUE(absl::IsUnavailable(Say("n1", Stopping::kSurrendered)));
  EXPECT_FALSE(Store());
  Beat("n2").IgnoreError();
  EXPECT_FALSE(Store());
  Beat("n3").IgnoreError();
  EXPECT_FALSE(Store());
  TellOthers("n1");
  EXPECT_TRUE(Store());
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
}

// A node surrenders its lease after some time even if it was not told to stop.
TEST_F(ManagerStopTest, ASurrenderIsNoHandoverWhileTheOthersAreSilent) {
  EXPECT_EQ(Ask("n1"), StopPermission::kWait);
  now_ += kBeat * 5;
  EXPECT_TRUE(Say("n1", Stopping::kSurrendered).ok());
  EXPECT_FALSE(Store());
  TellOthers("n1");
  EXPECT_TRUE(Store());
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
}

TEST_F(ManagerStopTest, AMemberKilledDuringItsStopIsDropped) {
  EXPECT_EQ(Ask("n1"), StopPermission::kWait);
  TellOthers("n1");
  EXPECT_EQ(Ask("n1"), StopPermission::kGo);
  Pass(kTimeout + kBeat, {Node("n2"), Node("n3")});
  EXPECT_EQ(Names(core_.view()), "n2.1 n3.1 ");
  EXPECT_TRUE(core_.view().away.empty());
}

TEST_F(ManagerStopTest, AMemberRestartedSoonKeepsItsPlace) {
  EXPECT_EQ(Ask("n1"), StopPermission::kWait);
  EXPECT_TRUE(Say("n1", Stopping::kSurrendered).ok());
  EXPECT_TRUE(Return("n1", {}).ok());
  EXPECT_TRUE(Store());
  EXPECT_EQ(Names(core_.view()), "n1.2 n2.1 n3.1 ");
  EXPECT_TRUE(core_.view().away.empty());
}

TEST_F(ManagerStopTest, ASpareTakesThePlaceAfterTheAwayLimit) {
  EXPECT_TRUE(Register(Node("n4")).ok());
  HandOver("n3");
  EXPECT_FALSE(core_.ShouldJoin("n4", now_));
  Pass(Options().away_limit, {Node("n1"), Node("n2"), Node("n4")});
  EXPECT_TRUE(core_.ShouldJoin("n4", now_));
}

}  // namespace
}  // namespace kamino::membership
