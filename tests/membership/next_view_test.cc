#include "membership/manager/next_view.h"

#include <algorithm>
#include <array>
#include <optional>

#include "gtest/gtest.h"
#include "tests/faults/fault.h"

namespace kamino::membership {
namespace {

constexpr int kNodes = 4;

// The manager's possible knowledge of a node.
enum State {
  kUnknown,
  kDead,
  kDeadRestarted,  // another incarnation, dead as well
  kAlive,
  kAliveRestarted,  // another incarnation
  kAliveBigger,     // with a larger heap
  kAliveReplaced,   // another incarnation with another heap
  kStates,
};

using States = std::array<State, kNodes>;

std::string Id(int node) { return "n" + std::to_string(node); }

Member MemberOf(int node, State state) {
  Member member{Id(node), 1,  Id(node) + ":1", {{"tcp", Id(node) + ":2"}},
                64,       "h"};
  if (state == kDeadRestarted || state == kAliveRestarted ||
      state == kAliveReplaced) {
    member.incarnation = 2;
  }
  if (state == kAliveReplaced) member.heap_id = "other";
  if (state == kAliveBigger) member.heap_bytes = 128;
  return member;
}

bool IsAlive(State state) {
  return state == kAlive || state == kAliveRestarted || state == kAliveBigger ||
         state == kAliveReplaced;
}

KnownNodes Known(const States& states, Condition condition) {
  KnownNodes known;
  for (int i = 0; i < kNodes; ++i) {
    if (states[i] == kUnknown) continue;
    known[Id(i)] = KnownNode{
        MemberOf(i, states[i]), IsAlive(states[i]), {.condition = condition}};
  }
  return known;
}

KnownNodes Fresh(const States& states) {
  return Known(states, Condition::kFresh);
}
KnownNodes Sound(const States& states) {
  return Known(states, Condition::kSound);
}

template <typename Check>
void ForAllStates(Check check) {
  int total = 1;
  for (int i = 0; i < kNodes; ++i) total *= kStates;
  for (int code = 0; code < total; ++code) {
    States states;
    std::string text;
    for (int i = 0, rest = code; i < kNodes; ++i, rest /= kStates) {
      states[i] = static_cast<State>(rest % kStates);
      text += std::to_string(states[i]) + " ";
    }
    SCOPED_TRACE("states " + text);
    check(states);
    if (testing::Test::HasFailure()) return;
  }
}

// The nodes of the first view, by the contract: the lowest ids of one heap
// size, the smaller size when there is a choice.
std::vector<int> ExpectedFirst(const States& states, size_t length) {
  for (const uint64_t heap : {64, 128}) {
    std::vector<int> chosen;
    for (int i = 0; i < kNodes && chosen.size() < length; ++i) {
      if (IsAlive(states[i]) && MemberOf(i, states[i]).heap_bytes == heap) {
        chosen.push_back(i);
      }
    }
    if (chosen.size() == length) return chosen;
  }
  return {};
}

TEST(NextViewTest, FirstViewNeedsExactlyTheLengthOfEqualHeaps) {
  for (size_t length = 1; length <= kNodes; ++length) {
    ForAllStates([length](const States& states) {
      View none;
      none.cluster_id = "c";
      const auto next = NextView(none, Fresh(states), length);
      // No node's data becomes a new chain.
      EXPECT_FALSE(NextView(none, Sound(states), length).has_value());
      const std::vector<int> expected = ExpectedFirst(states, length);
      ASSERT_EQ(next.has_value(), !expected.empty());
      if (!next.has_value()) return;
      EXPECT_EQ(next->id, 1u);
      EXPECT_EQ(next->cluster_id, "c");
      ASSERT_EQ(next->members.size(), length);
      for (size_t i = 0; i < length; ++i) {
        EXPECT_EQ(next->members[i], MemberOf(expected[i], states[expected[i]]));
      }
    });
  }
}

// For every chain of the four nodes, in every order.
template <typename Check>
void ForAllChains(Check check) {
  for (int subset = 1; subset < 1 << kNodes; ++subset) {
    std::vector<int> chain;
    for (int i = 0; i < kNodes; ++i) {
      if (subset & 1 << i) chain.push_back(i);
    }
    do {
      check(chain);
      if (testing::Test::HasFailure()) return;
    } while (std::next_permutation(chain.begin(), chain.end()));
  }
}

TEST(NextViewTest, LaterViewsKeepLiveMembersInOrder) {
  ForAllChains([](const std::vector<int>& chain) {
    View view{"c", 5, {}};
    for (int node : chain) view.members.push_back(MemberOf(node, kAlive));
    ForAllStates([&](const States& states) {
      std::vector<Member> expected;
      for (int node : chain) {
        // A member with a larger heap kept its incarnation, so it is alive.
        if (states[node] == kAlive || states[node] == kAliveBigger) {
          expected.push_back(MemberOf(node, kAlive));
        } else if (states[node] == kAliveRestarted) {
          expected.push_back(MemberOf(node, kAliveRestarted));
        }
      }
      // The wanted length must not matter once there is a chain.
      for (size_t length : {size_t{1}, size_t{kNodes}}) {
        const auto next = NextView(view, Sound(states), length);
        // They are sound; but one restarted member alone is not enough, unless
        // there is none to wait for.
        const bool went_on =
            std::any_of(expected.begin(), expected.end(),
                        [](const Member& m) { return m.incarnation == 1; });
        const size_t lost = static_cast<size_t>(std::count_if(
            chain.begin(), chain.end(),
            [&](int node) { return states[node] == kAliveReplaced; }));
        const bool enough = went_on || expected.size() >= 2 ||
                            expected.size() + lost == chain.size();
        if (!enough || expected.empty() || expected == view.members) {
          ASSERT_FALSE(next.has_value());
          continue;
        }
        ASSERT_TRUE(next.has_value());
        EXPECT_EQ(next->id, 6u);
        EXPECT_EQ(next->cluster_id, "c");
        EXPECT_EQ(next->members, expected);
      }
    });
  });
}

TEST(NextViewTest, AFixedPointIsReachedInOneStep) {
  View view{"c", 5, {}};
  for (int i = 0; i < kNodes; ++i) view.members.push_back(MemberOf(i, kAlive));
  int decided = 0;
  ForAllStates([&](const States& states) {
    const auto next = NextView(view, Sound(states), kNodes);
    if (!next.has_value()) return;
    ++decided;
    EXPECT_FALSE(NextView(*next, Sound(states), kNodes).has_value());
  });
  EXPECT_GT(decided, 0);
}

std::optional<std::string> Names(const std::optional<View>& view) {
  if (!view.has_value()) return std::nullopt;
  std::string names;
  for (const Member& member : view->members) names += member.node_id;
  return names;
}

// A chain of all nodes; a character tells what each living one reports of its
// heap: s(ound), f(resh), t(orn), b(ehind), r(eceiving), x: returned, o(utrun),
// ?; - is dead.
std::optional<std::string> After(const std::string& conditions,
                                 ChainMode mode = ChainMode::kKamino) {
  View view{"c", 5, {}};
  view.in_force[std::string(kChainModeTerm)] = static_cast<uint64_t>(mode);
  KnownNodes known;
  for (int i = 0; i < static_cast<int>(conditions.size()); ++i) {
    const Member member = MemberOf(i, kAlive);
    view.members.push_back(member);
    const char c = conditions[i];
    const Condition condition = c == 's'   ? Condition::kSound
                                : c == 'f' ? Condition::kFresh
                                : c == 't' ? Condition::kTorn
                                : c == 'b' ? Condition::kBehind
                                : c == 'r' ? Condition::kReceiving
                                : c == 'x' ? Condition::kReturned
                                : c == 'o' ? Condition::kOutrun
                                           : Condition::kUnknown;
    known[member.node_id] =
        KnownNode{member, c != '-', {.condition = condition}};
  }
  return Names(NextView(view, known, kNodes));
}

TEST(NextViewTest, MembersAreExpelledOnlyIfTheRestCanContinue) {
  EXPECT_EQ(After("s---"), "n0");
  EXPECT_EQ(After("--f-"), "n2");
  EXPECT_EQ(After("-t--"), std::nullopt);  // no node could repair it
  EXPECT_EQ(After("-t-t"), "n1n3");
  EXPECT_EQ(After("-ts-"), "n1n2");
  EXPECT_EQ(After("---b"), std::nullopt);  // it lacks what was acknowledged
  EXPECT_EQ(After("-b-b"), std::nullopt);
  EXPECT_EQ(After("-t-b"), "n1n3");  // the other brings it up, then is repaired
  EXPECT_EQ(After("tt-b"), "n0n1n3");
  EXPECT_EQ(After("?---"), std::nullopt);
  EXPECT_EQ(After("ss-r"), "n0n1");
  EXPECT_EQ(After("sssr"), "n0n1n2");  // alive, but useless
  EXPECT_EQ(After("rrrr"), std::nullopt);
  EXPECT_EQ(After("t"), std::nullopt);  // nothing to decide
  EXPECT_EQ(After("----"), std::nullopt);
}

TEST(NextViewTest, ACompleteMemberContinuesAloneIfNodesRepairLocally) {
  for (ChainMode mode : {ChainMode::kTraditional, ChainMode::kImages}) {
    EXPECT_EQ(After("s---", mode), "n0");
    EXPECT_EQ(After("--x-", mode), "n2");
    // By a divergence: it has already repaired all it can locally.
    EXPECT_EQ(After("-t--", mode), std::nullopt);
    EXPECT_EQ(After("-bt-", mode), std::nullopt);
    EXPECT_EQ(After("-t-t", mode), "n1n3");
    EXPECT_EQ(After("---b", mode), std::nullopt);
    EXPECT_EQ(After("---o", mode), std::nullopt);
    EXPECT_EQ(After("?---", mode), std::nullopt);
    EXPECT_EQ(After("rrrr", mode), std::nullopt);
    EXPECT_EQ(After("----", mode), std::nullopt);
  }
}

TEST(NextViewTest, AMemberThatIsBehindIsNeverHead) {
  EXPECT_EQ(After("-bss"), "n2n3");
  EXPECT_EQ(After("bsss"), "n1n2n3");
  EXPECT_EQ(After("-bs-"), "n2");
  EXPECT_EQ(After("-bt-"), std::nullopt);  // no node could repair it
  EXPECT_EQ(After("-btt"), "n2n3");
  EXPECT_EQ(After("sb-s"), "n0n1n3");
  faults::PlantFault("view-led-by-one-behind");
  EXPECT_EQ(After("-bss"), "n1n2n3");
  faults::PlantFault("");
}

// Otherwise a member that holds everything, and is away for a moment only,
// would be expelled in favour of one that never serves again.
TEST(NextViewTest, AMemberOnAnOldCopyIsNotCountedOn) {
  View view{"c", 5, {}};
  for (int i = 0; i < 3; ++i) view.members.push_back(MemberOf(i, kAlive));
  KnownNodes known = Sound({kDead, kAlive, kAlive, kUnknown});
  known["n0"] = KnownNode{view.head(), false, {}};
  known["n2"].report.condition = Condition::kBehind;
  ASSERT_EQ(Names(NextView(view, known, 3)), "n1n2");
  known["n1"].turned_away = true;
  EXPECT_EQ(NextView(view, known, 3), std::nullopt);
  faults::PlantFault("view-counts-on-a-rejected-node");
  EXPECT_EQ(Names(NextView(view, known, 3)), "n1n2");
  faults::PlantFault("");
  // The first one returns before the second one's former process is silent.
  known["n0"].alive = true;
  known["n0"].member = MemberOf(0, kAliveRestarted);
  known["n0"].report.condition = Condition::kReturned;
  known["n1"].alive = false;
  EXPECT_EQ(Names(NextView(view, known, 3)), "n0n2");
}

TEST(NextViewTest, TwoMembersAreNeededAfterAllWereAway) {
  View view{"c", 5, {}};
  for (int i = 0; i < 3; ++i) view.members.push_back(MemberOf(i, kAlive));
  KnownNodes known = Sound({kUnknown, kAliveRestarted, kDead, kUnknown});
  EXPECT_FALSE(NextView(view, known, 3).has_value());
  known["n2"] = KnownNode{
      MemberOf(2, kAliveRestarted), true, {.condition = Condition::kTorn}};
  const auto next = NextView(view, known, 3);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->ToString(), "view 6: n1 (head) -> n2 (tail)");
  // Except for members that returned without their data.
  known = Sound({kAliveReplaced, kAliveRestarted, kDead, kUnknown});
  EXPECT_FALSE(NextView(view, known, 3).has_value());
  known["n2"] = KnownNode{
      MemberOf(2, kAliveRestarted), true, {.condition = Condition::kReceiving}};
  EXPECT_EQ(NextView(view, known, 3)->ToString(), "view 6: n1 (single)");
  known["n1"].report.condition = Condition::kTorn;
  EXPECT_FALSE(NextView(view, known, 3).has_value());
}

// Where each node rolls back locally, one that holds everything is enough.
TEST(NextViewTest, OneMemberIsEnoughIfNodesRepairLocally) {
  for (const ChainMode mode : {ChainMode::kTraditional, ChainMode::kImages}) {
    View view{"c", 5, {}};
    for (int i = 0; i < 3; ++i) view.members.push_back(MemberOf(i, kAlive));
    for (Member& member : view.members) {
      const auto number = static_cast<uint64_t>(mode);
      member.agreement[std::string(kChainModeTerm)] = {number, number};
    }
    view.Finalize();
    ASSERT_EQ(view.mode(), mode);
    KnownNodes known = Sound({kUnknown, kAliveRestarted, kDead, kUnknown});
    known["n1"].report.condition = Condition::kReturned;
    ASSERT_TRUE(NextView(view, known, 3).has_value());
    EXPECT_EQ(NextView(view, known, 3)->ToString(), "view 6: n1 (single)");
    // It is torn by a divergence: only a neighbour can roll that back.
    known["n1"].report.condition = Condition::kTorn;
    EXPECT_FALSE(NextView(view, known, 3).has_value());
    known["n2"] = KnownNode{
        MemberOf(2, kAliveRestarted), true, {.condition = Condition::kTorn}};
    EXPECT_TRUE(NextView(view, known, 3).has_value());
    known["n1"].report.condition = Condition::kBehind;
    known.erase("n2");
    EXPECT_FALSE(NextView(view, known, 3).has_value());
  }
}

// --- Old copies: which copy a restarted member has.
enum Copy { kAway, kLatest, kOld, kCopies };

// Nodes of a view of four that were all down, each with the copy it has now.
KnownNodes Restarted(const std::array<Copy, kNodes>& copies,
                     const Cursors& latest, const Cursors& old) {
  KnownNodes known;
  for (int i = 0; i < kNodes; ++i) {
    KnownNode& node = known[Id(i)];
    node.member = MemberOf(i, kAlive);
    if (copies[i] == kAway) continue;
    node.member = MemberOf(i, kAliveRestarted);
    node.alive = true;
    node.report.condition =
        i % 2 == 0 ? Condition::kReturned : Condition::kTorn;
    node.report.cursors = copies[i] == kOld ? old : latest;
  }
  return known;
}

template <typename Check>
void ForAllCopies(Check check) {
  for (int code = 0; code < kCopies * kCopies * kCopies * kCopies; ++code) {
    std::array<Copy, kNodes> copies;
    std::string text;
    for (int i = 0, rest = code; i < kNodes; ++i, rest /= kCopies) {
      copies[i] = static_cast<Copy>(rest % kCopies);
      text += std::to_string(copies[i]) + " ";
    }
    SCOPED_TRACE("copies " + text);
    check(copies);
    if (testing::Test::HasFailure()) return;
  }
}

View ViewOfFour() {
  View view{"c", 5, {}};
  for (int i = 0; i < kNodes; ++i) view.members.push_back(MemberOf(i, kAlive));
  return view;
}

TEST(OldCopyTest, AMemberThatLacksCleanedEntriesNeitherStaysNorIsAwaited) {
  const View view = ViewOfFour();
  ForAllCopies([&](const std::array<Copy, kNodes>& copies) {
    const KnownNodes known = Restarted(copies, {110, 110, 100}, {20, 20, 10});
    std::vector<Member> whole;
    bool returned = false;
    size_t there = 0;
    for (int i = 0; i < kNodes; ++i) {
      there += copies[i] != kAway;
      if (copies[i] != kLatest) continue;
      whole.push_back(MemberOf(i, kAliveRestarted));
      returned = returned || i % 2 == 0;
    }
    if (whole.empty()) return;  // no node is left that could tell
    for (int i = 0; i < kNodes; ++i) {
      const auto shortfall = ShortfallOf(view, known, Id(i));
      ASSERT_EQ(shortfall.has_value(), copies[i] == kOld);
      if (!shortfall.has_value()) continue;
      EXPECT_EQ(shortfall->holds, 20u);
      EXPECT_GE(shortfall->needs, 100u);
    }
    const bool enough = whole.size() >= 2 || (returned && there == kNodes);
    const auto next = NextView(view, known, kNodes);
    ASSERT_EQ(next.has_value(), enough);
    if (enough) {
      EXPECT_EQ(next->members, whole);
    }
  });
}

// The cleaned position may be known too late, but sent entries are there.
TEST(OldCopyTest, AMemberThatLacksEntriesOfItsSuccessorsDoesNotStay) {
  const View view = ViewOfFour();
  int decided = 0;
  ForAllCopies([&](const std::array<Copy, kNodes>& copies) {
    const KnownNodes known = Restarted(copies, {110, 110, 0}, {20, 20, 0});
    for (int i = 0; i < kNodes; ++i) {
      const bool lags = std::any_of(copies.begin() + i, copies.end(),
                                    [](Copy copy) { return copy == kLatest; });
      ASSERT_EQ(ShortfallOf(view, known, Id(i)).has_value(),
                copies[i] == kOld && lags);
    }
    const auto next = NextView(view, known, kNodes);
    if (!next.has_value()) return;
    ++decided;
    for (const Member& member : next->members) {
      EXPECT_FALSE(ShortfallOf(view, known, member.node_id).has_value())
          << member.node_id;
    }
    // The head can bring the members after it up.
    EXPECT_TRUE(copies[std::stoi(next->head().node_id.substr(1))] == kLatest ||
                std::count(copies.begin(), copies.end(), kLatest) == 0);
  });
  EXPECT_GT(decided, 0);
}

TEST(OldCopyTest, ARunningMemberHasAShortfallOnlyIfItReportsOne) {
  const View view = ViewOfFour();
  KnownNodes known = Sound({kAlive, kAlive, kAlive, kAlive});
  known["n1"].report.cursors = {20, 20, 10};
  known["n2"].report.cursors = {110, 110, 100};  // heard later
  EXPECT_FALSE(ShortfallOf(view, known, "n1").has_value());
  known["n1"].report.condition = Condition::kOutrun;
  const auto shortfall = ShortfallOf(view, known, "n1");
  ASSERT_TRUE(shortfall.has_value());
  EXPECT_EQ(shortfall->known_by, "n2");
  EXPECT_EQ(shortfall->needs, 110u);
  // It may hold a lease: it is dropped once it is silent, but does not count.
  EXPECT_FALSE(NextView(view, known, kNodes).has_value());
  known["n1"].alive = false;
  EXPECT_EQ(NextView(view, known, kNodes)->members.size(), 3u);
  // Not because of the report of another heap.
  known["n1"].alive = true;
  known["n2"].member.heap_id = "other";
  EXPECT_FALSE(ShortfallOf(view, known, "n1").has_value());
}

TEST(OldCopyTest, AReturningNodeDoesNotContinueAlone) {
  EXPECT_EQ(After("x---"), std::nullopt);
  EXPECT_EQ(After("x--t"), "n0n3");
  EXPECT_EQ(After("x--x"), "n0n3");
  EXPECT_EQ(After("xrrr"), "n0");
  EXPECT_EQ(After("o---"), std::nullopt);
  EXPECT_EQ(After("o--s"), "n0n3");
}

TEST(NextViewTest, ACaughtUpNodeBecomesTheTailOfASoundChain) {
  View view{"c", 5, {MemberOf(0, kAlive), MemberOf(1, kAlive)}};
  KnownNodes known = Sound({kAlive, kAlive, kAlive, kUnknown});
  KnownNode& joins = known["n2"];
  joins.report.condition = Condition::kBehind;
  EXPECT_FALSE(NextView(view, known, 3).has_value());
  joins.report.caught_up_view = 4;
  EXPECT_FALSE(NextView(view, known, 3).has_value());
  joins.report.caught_up_view = 5;
  EXPECT_FALSE(NextView(view, known, 2).has_value());  // long enough
  auto next = NextView(view, known, 3);
  ASSERT_TRUE(next.has_value());
  EXPECT_EQ(next->ToString(), "view 6: n0 (head) -> n1 -> n2 (tail)");
  known["n1"].report.condition =
      Condition::kBehind;  // the last one that joined
  EXPECT_FALSE(NextView(view, known, 3).has_value());
  known["n1"].report.condition = Condition::kSound;
  joins.alive = false;
  EXPECT_FALSE(NextView(view, known, 3).has_value());
}

// n0 and n1, n2 has joined, and n0 is drained.
TEST(NextViewTest, ADrainedMemberLeavesOnceTheChainIsCompleteWithoutIt) {
  const View view{
      "c", 5, {MemberOf(0, kAlive), MemberOf(1, kAlive), MemberOf(2, kAlive)}};
  const Exclusions drained = {{"n0", true}};
  const auto leaves = [&](const KnownNodes& known) {
    return ShouldLeave(view, known, 2, drained, "n0");
  };
  KnownNodes known = Sound({kAlive, kAlive, kAlive, kUnknown});
  EXPECT_TRUE(leaves(known));
  known["n2"].report.condition = Condition::kBehind;
  EXPECT_FALSE(leaves(known));
  EXPECT_FALSE(leaves(Sound({kAlive, kAlive, kDead, kUnknown})));
  // It is silent now.
  EXPECT_TRUE(leaves(Sound({kDead, kAlive, kAlive, kUnknown})));
  faults::PlantFault("view-waits-for-a-drained-node");
  EXPECT_FALSE(leaves(Sound({kDead, kAlive, kAlive, kUnknown})));
  faults::PlantFault("");
}

// n0 is removed while n1, which returned, is the only other member.
TEST(NextViewTest, AMemberThatConfirmsAReturningNodeIsNotRemoved) {
  View view{"c", 5, {MemberOf(0, kAlive), MemberOf(1, kAlive)}};
  const Exclusions removed = {{"n0", false}};
  for (ChainMode mode : {ChainMode::kTraditional, ChainMode::kImages}) {
    view.in_force[std::string(kChainModeTerm)] = static_cast<uint64_t>(mode);
    KnownNodes known = Sound({kAlive, kAlive, kUnknown, kUnknown});
    EXPECT_TRUE(CanContinue(view, known, removed));
    known["n1"].report.condition = Condition::kReturned;
    EXPECT_FALSE(CanContinue(view, known, removed));
    EXPECT_FALSE(ShouldLeave(view, known, 2, removed, "n0"));
    faults::PlantFault("view-removes-a-confirming-node");
    EXPECT_TRUE(ShouldLeave(view, known, 2, removed, "n0"));
    faults::PlantFault("");
    // No other node will take part.
    known["n0"].alive = false;
    EXPECT_TRUE(CanContinue(view, known, removed));
  }
}

TEST(NextViewTest, OnlyOneNodeIsInvitedToJoin) {
  View view{"c", 5, {MemberOf(1, kAlive)}};
  KnownNodes known = Sound({kAlive, kAlive, kAlive, kAliveBigger});
  EXPECT_EQ(NextToJoin(view, known, 1, ""), "");
  EXPECT_EQ(NextToJoin(view, known, 3, ""), "n0");
  EXPECT_EQ(NextToJoin(view, known, 3, "n2"), "n2");
  known["n2"].alive = false;
  EXPECT_EQ(NextToJoin(view, known, 3, "n2"), "n0");
  known["n0"].alive = false;
  EXPECT_EQ(NextToJoin(view, known, 3, "n0"), "");
  EXPECT_EQ(NextToJoin(View(), Sound({}), 3, ""), "");
}

}  // namespace
}  // namespace kamino::membership
