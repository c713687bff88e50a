#include "membership/view.h"

#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

Member Node(const std::string& id, uint64_t incarnation) {
  return Member{id, incarnation, id + ":1", {{"tcp", id + ":2"}}, 1 << 20, "h"};
}

View Chain(int length) {
  View view{"c", 7, {}};
  for (int i = 0; i < length; ++i) {
    view.members.push_back(Node("n" + std::to_string(i + 1), 10 + i));
  }
  return view;
}

TEST(ViewTest, RolesFollowPositions) {
  const View one = Chain(1);
  EXPECT_EQ(one.RoleAt(0), Role::kSingle);
  const View two = Chain(2);
  EXPECT_EQ(two.RoleAt(0), Role::kHead);
  EXPECT_EQ(two.RoleAt(1), Role::kTail);
  const View four = Chain(4);
  EXPECT_EQ(four.RoleAt(0), Role::kHead);
  EXPECT_EQ(four.RoleAt(1), Role::kMiddle);
  EXPECT_EQ(four.RoleAt(2), Role::kMiddle);
  EXPECT_EQ(four.RoleAt(3), Role::kTail);
  EXPECT_EQ(four.RoleAt(-1), Role::kOutside);
}

TEST(ViewTest, AnotherIncarnationIsOutside) {
  const View view = Chain(3);
  EXPECT_EQ(view.IndexOf("n2", 11), 1);
  EXPECT_EQ(view.IndexOf("n2", 12), -1);
  EXPECT_EQ(view.IndexOf("n9", 11), -1);
  EXPECT_EQ(view.RoleOf("n2", 12), Role::kOutside);
  EXPECT_EQ(view.RoleOf("n3", 12), Role::kTail);
}

TEST(ViewTest, NeighboursEndAtTheEnds) {
  const View view = Chain(3);
  EXPECT_EQ(view.Predecessor(0), nullptr);
  EXPECT_EQ(view.Successor(2), nullptr);
  ASSERT_NE(view.Predecessor(1), nullptr);
  EXPECT_EQ(view.Predecessor(1)->node_id, "n1");
  ASSERT_NE(view.Successor(1), nullptr);
  EXPECT_EQ(view.Successor(1)->node_id, "n3");
  // A node outside the view has none.
  EXPECT_EQ(view.Predecessor(-1), nullptr);
  EXPECT_EQ(view.Successor(-1), nullptr);
}

TEST(ViewTest, ReadsAsAChain) {
  EXPECT_EQ(Chain(3).ToString(), "view 7: n1 (head) -> n2 -> n3 (tail)");
  EXPECT_EQ(Chain(1).ToString(), "view 7: n1 (single)");
  EXPECT_EQ(View().ToString(), "no view yet");
}

TEST(ViewTest, DiffersByAnythingOfAMember) {
  const View view = Chain(3);
  View other = view;
  EXPECT_EQ(other, view);
  other.members[1].link_addresses["shm"] = "/x";
  EXPECT_FALSE(other == view);
}

}  // namespace
}  // namespace kamino::membership
