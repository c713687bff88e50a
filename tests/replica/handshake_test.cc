#include "replica/link/handshake.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::replica {
namespace {

using kamino::internal::v1::Hello;
using kamino::internal::v1::LINK_PURPOSE_APPEND;
using kamino::internal::v1::LINK_PURPOSE_COMPLETION;
using ::testing::HasSubstr;

constexpr uint64_t kHeapBytes = 1 << 20;
constexpr uint64_t kLife = 5;  // of each node, in the view

// n1 (head) -> n2 -> n3 (tail), all of one cluster and epoch, and the sender of
// a Hello to one of them.
class HandshakeTest : public ::testing::Test {
 protected:
  HandshakeTest() {
    place_.view.id = 4;
    for (const char* id : {"n1", "n2", "n3"}) {
      membership::Member member;
      member.node_id = id;
      member.incarnation = kLife;
      place_.view.members.push_back(member);
    }
  }

  ChainOptions OptionsOf(const std::string& node) const {
    ChainOptions options;
    options.cluster_id = "c";
    options.node_id = node;
    options.incarnation = kLife;
    options.heap_bytes = kHeapBytes;
    options.agreement = {{"ring", {64, 64}}};
    return options;
  }

  static NodeState Sound() {
    NodeState state;
    state.condition = membership::Condition::kSound;
    state.cluster_uuid = {7};
    state.epoch = 2;
    return state;
  }

  Hello From(const std::string& node) const {
    Hello hello;
    DescribeNode(OptionsOf(node), Sound(), &hello);
    return hello;
  }

  std::string Refuse(const Hello& hello) const {
    return RefuseStranger(OptionsOf("n2"), Sound(), place_.view, hello);
  }

  std::string RefuseAt(const std::string& node, int index, Hello hello,
                       kamino::internal::v1::LinkPurpose purpose,
                       const NodeState& state = Sound()) {
    hello.set_purpose(purpose);
    place_.index = index;
    return RefuseNeighbour(OptionsOf(node), state, place_, hello);
  }

  Place place_;
};

TEST_F(HandshakeTest, AnEqualNodeIsAccepted) {
  EXPECT_EQ(Refuse(From("n1")), "");
}

TEST_F(HandshakeTest, EachDifferenceIsRefusedAndNamed) {
  struct Case {
    std::function<void(Hello*)> change;
    std::string said;
  };
  const std::vector<Case> cases = {
      {[](Hello* hello) { hello->set_cluster_id("d"); },
       "this is cluster c, not d"},
      {[](Hello* hello) { hello->set_cluster_uuid(std::string(16, 'x')); },
       "this cluster, named c, is not that of"},
      {[](Hello* hello) { hello->set_heap_bytes(2 * kHeapBytes); },
       "heaps differ in size: 1048576 bytes here, 2097152 there"},
      {[this](Hello* hello) {
         ChainOptions other = OptionsOf("n1");
         other.agreement = {{"ring", {128, 128}}};
         DescribeNode(other, Sound(), hello);
       },
       "ring"},
  };
  for (const Case& each : cases) {
    Hello hello = From("n1");
    each.change(&hello);
    EXPECT_THAT(Refuse(hello), HasSubstr(each.said));
  }
}

TEST_F(HandshakeTest, ANodeWithoutClusterIsAccepted) {
  Hello hello = From("n1");
  hello.clear_cluster_uuid();
  EXPECT_EQ(Refuse(hello), "");
}

TEST_F(HandshakeTest, ANodeThatLacksAFinalizedFeatureIsRefused) {
  place_.view.in_force = {{"procedure p", 1}};
  EXPECT_THAT(Refuse(From("n1")), HasSubstr("p"));
}

TEST_F(HandshakeTest, NeighboursAreThePredecessorAndTheTailAtTheHead) {
  EXPECT_EQ(RefuseAt("n2", 1, From("n1"), LINK_PURPOSE_APPEND), "");
  EXPECT_EQ(RefuseAt("n1", 0, From("n3"), LINK_PURPOSE_COMPLETION), "");
  EXPECT_THAT(RefuseAt("n2", 1, From("n3"), LINK_PURPOSE_APPEND),
              HasSubstr("n3 is not the neighbour of n2 in view 4"));
  EXPECT_THAT(RefuseAt("n1", 0, From("n2"), LINK_PURPOSE_APPEND),
              HasSubstr("not the neighbour"));
  EXPECT_THAT(RefuseAt("n1", 0, From("n2"), LINK_PURPOSE_COMPLETION),
              HasSubstr("not the neighbour"));
  EXPECT_THAT(RefuseAt("n2", 1, From("n3"), LINK_PURPOSE_COMPLETION),
              HasSubstr("not the neighbour"));
}

TEST_F(HandshakeTest, ANodeWithDataOfAnotherEpochOrNoneIsNoNeighbour) {
  NodeState state = Sound();
  state.epoch = 3;
  EXPECT_THAT(RefuseAt("n2", 1, From("n1"), LINK_PURPOSE_APPEND, state),
              HasSubstr("n1 holds data of recovery epoch 2, n2 of epoch 3"));
  state = Sound();
  state.condition = membership::Condition::kReceiving;
  EXPECT_THAT(RefuseAt("n2", 1, From("n1"), LINK_PURPOSE_APPEND, state),
              HasSubstr("n2 holds no state of the chain"));
}

TEST_F(HandshakeTest, AnotherIncarnationIsNoNeighbour) {
  for (const uint64_t life : {uint64_t{0}, kLife - 1, kLife + 1}) {
    Hello hello = From("n1");
    hello.set_incarnation(life);
    EXPECT_THAT(RefuseAt("n2", 1, hello, LINK_PURPOSE_APPEND),
                HasSubstr("n1 in another life than that of view 4"));
    hello = From("n3");
    hello.set_incarnation(life);
    EXPECT_THAT(RefuseAt("n1", 0, hello, LINK_PURPOSE_COMPLETION),
                HasSubstr("n3 in another life"));
  }
}

TEST_F(HandshakeTest, APeerMustHaveTheIdentityThatItClaims) {
  const auto refuse = [this](const std::string& node,
                             const std::string& identity) {
    return RefuseImpostor(OptionsOf("n2"), place_.view, From(node), identity);
  };
  EXPECT_EQ(refuse("n1", "kamino://c/node/n1"), "");
  EXPECT_EQ(refuse("n1", "kamino://c/node/n3"),
            "kamino://c/node/n3 says it is n1, which is kamino://c/node/n1");
  EXPECT_EQ(
      refuse("n1", ""),
      "a peer without identity says it is n1, which is kamino://c/node/n1");
  EXPECT_NE(refuse("n1", "kamino://c/operator/n1"), "");
  EXPECT_NE(refuse("n1", "kamino://d/node/n1"), "");
  // A joining node is in no view.
  EXPECT_EQ(refuse("n4", "kamino://c/node/n4"), "");
  EXPECT_NE(refuse("n4", "kamino://c/node/n1"), "");
}

TEST_F(HandshakeTest, TheViewGivesTheIdentityOfAMember) {
  place_.view.members[0].identity = "kamino://c/node/other";
  const Hello hello = From("n1");
  EXPECT_EQ(RefuseImpostor(OptionsOf("n2"), place_.view, hello,
                           "kamino://c/node/other"),
            "");
  EXPECT_NE(
      RefuseImpostor(OptionsOf("n2"), place_.view, hello, "kamino://c/node/n1"),
      "");
}

}  // namespace
}  // namespace kamino::replica
