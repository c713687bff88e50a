#include "membership/agent/manager_turns.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/faults/planted.h"

namespace kamino::membership {
namespace {

TEST(ManagerTurnsTest, AManagerThatLeadsIsKept) {
  ManagerTurns turns({"a", "b"});
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(turns.current(), "a");
    turns.OnSuccess();
  }
}

TEST(ManagerTurnsTest, ManagersThatDoNotLeadTakeTurns) {
  ManagerTurns turns({"a", "b", "c"});
  std::string asked;
  for (int i = 0; i < 7; ++i) {
    asked += turns.current();
    turns.OnFailure("");
  }
  EXPECT_EQ(asked, "abcabca");
}

TEST(ManagerTurnsTest, ARedirectIsFollowed) {
  ManagerTurns turns({"a", "b", "c"});
  turns.OnFailure("c");
  EXPECT_EQ(turns.current(), "c");
  turns.OnSuccess();
  // It resigns, and names its successor.
  turns.OnFailure("b");
  EXPECT_EQ(turns.current(), "b");
}

TEST(ManagerTurnsTest, ALeaderOutsideTheListIsFollowedUntilItFails) {
  ManagerTurns turns({"a"});
  turns.OnFailure("x");
  EXPECT_EQ(turns.current(), "x");
  turns.OnSuccess();
  turns.OnFailure("");
  turns.OnFailure("");
  EXPECT_EQ(turns.current(), "a");
  turns.OnFailure("y");
  EXPECT_EQ(turns.current(), "y");
  turns.OnFailure(std::string(10000, 'z'));
  EXPECT_NE(turns.current().size(), 10000u);
}

// Managers in every order: one leads; one does not reach etcd and names a dead
// leader; the others do not answer.
class StaleRedirectTest : public testing::Test {
 protected:
  // The calls until the node reaches the leader, at most 20.
  static int CallsUntilLed(const std::vector<std::string>& managers,
                           const std::string& named) {
    ManagerTurns turns(managers);
    int calls = 1;
    for (; turns.current() != "leads" && calls < 20; ++calls) {
      turns.OnFailure(turns.current() == "stale" ? named : "");
    }
    return calls;
  }
  static int MostCalls(const std::string& named) {
    std::vector<std::string> managers = {"dead", "leads", "stale"};
    int most = 0;
    do {
      most = std::max(most, CallsUntilLed(managers, named));
    } while (std::next_permutation(managers.begin(), managers.end()));
    return most;
  }
};

TEST_F(StaleRedirectTest, EachManagerGetsItsTurn) {
  EXPECT_LE(MostCalls("dead"), 4);
  // A manager of another cluster, which refuses the node.
  EXPECT_LE(MostCalls("foreign"), 5);
}

TEST_F(StaleRedirectTest, RedirectsThatTakeTurnsAreDetected) {
  faults::PlantFault("membership-redirects-take-turns");
  EXPECT_EQ(MostCalls("dead"), 20);
  EXPECT_TRUE(faults::PlantedFaultWasMet());
  faults::PlantFault("");
}

// Two managers name each other as leader.
TEST_F(StaleRedirectTest, ACircleOfRedirectsEnds) {
  ManagerTurns turns({"a", "b", "leads"});
  int calls = 1;
  for (; turns.current() != "leads" && calls < 20; ++calls) {
    turns.OnFailure(turns.current() == "a" ? "b" : "a");
  }
  EXPECT_LE(calls, 7);
}

}  // namespace
}  // namespace kamino::membership
