#include "membership/next_view.h"

#include <algorithm>
#include <array>

#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

constexpr int kNodes = 4;

// What the manager may know of a node.
enum State {
  kUnknown,
  kDead,
  kDeadRestarted,  // another incarnation, dead as well
  kAlive,
  kAliveRestarted,  // another incarnation
  kAliveBigger,     // with a larger heap
  kStates,
};

using States = std::array<State, kNodes>;

std::string Id(int node) { return "n" + std::to_string(node); }

Member MemberOf(int node, State state) {
  Member member{Id(node), 1, Id(node) + ":1", {{"tcp", Id(node) + ":2"}}, 64};
  if (state == kDeadRestarted || state == kAliveRestarted) {
    member.incarnation = 2;
  }
  if (state == kAliveBigger) member.heap_bytes = 128;
  return member;
}

bool IsAlive(State state) {
  return state == kAlive || state == kAliveRestarted || state == kAliveBigger;
}

std::map<std::string, NodeState> Known(const States& states) {
  std::map<std::string, NodeState> known;
  for (int i = 0; i < kNodes; ++i) {
    if (states[i] == kUnknown) continue;
    known[Id(i)] = NodeState{MemberOf(i, states[i]), IsAlive(states[i])};
  }
  return known;
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
      const auto next = NextView(none, Known(states), length);
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

// Over every chain that can be made of the four nodes, in every order.
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

TEST(NextViewTest, LaterViewsKeepWhoIsAliveInOrder) {
  ForAllChains([](const std::vector<int>& chain) {
    View view{"c", 5, {}};
    for (int node : chain) view.members.push_back(MemberOf(node, kAlive));
    ForAllStates([&](const States& states) {
      std::vector<Member> expected;
      for (int node : chain) {
        // A member with a larger heap kept its incarnation, so it is alive.
        if (states[node] == kAlive || states[node] == kAliveBigger) {
          expected.push_back(MemberOf(node, kAlive));
        }
      }
      // The wanted length must not matter once there is a chain.
      for (size_t length : {size_t{1}, size_t{kNodes}}) {
        const auto next = NextView(view, Known(states), length);
        if (expected.empty() || expected.size() == chain.size()) {
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
  ForAllStates([&](const States& states) {
    const auto next = NextView(view, Known(states), kNodes);
    if (!next.has_value()) return;
    EXPECT_FALSE(NextView(*next, Known(states), kNodes).has_value());
  });
}

}  // namespace
}  // namespace kamino::membership
