#include "membership/view_history.h"

#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

View Next(const View& previous, const std::vector<std::string>& members,
          uint64_t incarnation = 1) {
  View next{"c", previous.id + 1, {}};
  for (const std::string& id : members) {
    Member member;
    member.node_id = id;
    member.incarnation = incarnation;
    next.members.push_back(member);
  }
  Succeed(previous, &next);
  return next;
}

TEST(ViewHistoryTest, AViewNamesItsAncestors) {
  const View one = Next(View(), {"n1", "n2"});
  const View two = Next(one, {"n1"});
  const View three = Next(two, {"n1", "n3"});
  EXPECT_NE(one.digest, 0u);
  EXPECT_EQ(one.ancestors, std::vector<uint64_t>());
  EXPECT_EQ(three.ancestors, (std::vector<uint64_t>{two.digest, one.digest}));
}

// A write whose answer was lost is repeated.
TEST(ViewHistoryTest, EqualSuccessorsAreEqualViews) {
  const View one = Next(View(), {"n1", "n2"});
  EXPECT_EQ(Next(one, {"n1"}), Next(one, {"n1"}));
}

TEST(ViewHistoryTest, SuccessorsDifferByMembersProcessesAndHistory) {
  const View one = Next(View(), {"n1", "n2"});
  const View other = Next(View(), {"n2", "n1"});
  const View two = Next(one, {"n1"});
  EXPECT_NE(one.digest, other.digest);
  EXPECT_NE(two.digest, Next(one, {"n2"}).digest);
  EXPECT_NE(two.digest, Next(one, {"n1"}, 2).digest);
  EXPECT_NE(two.digest, Next(other, {"n1"}).digest);
}

TEST(ViewHistoryTest, KinshipDependsOnIdAndDigest) {
  const View one = Next(View(), {"n1", "n2"});
  const View two = Next(one, {"n1"});
  const View other_two = Next(one, {"n2"});
  const View three = Next(two, {"n1", "n3"});
  for (const View* view : {&one, &two, &three}) {
    EXPECT_EQ(KinshipOf({0, view->id, view->digest}, three), Kinship::kPast);
    EXPECT_EQ(KinshipOf({0, view->id, 0}, three), Kinship::kPast);
  }
  EXPECT_EQ(KinshipOf({0, 0, 0}, three), Kinship::kPast);
  EXPECT_EQ(KinshipOf({0, 0, 0}, View()), Kinship::kPast);
  EXPECT_EQ(KinshipOf({0, 3, three.digest}, two), Kinship::kAhead);
  EXPECT_EQ(KinshipOf({0, 3, 0}, two), Kinship::kAhead);
  EXPECT_EQ(KinshipOf({0, 1, one.digest}, View()), Kinship::kAhead);
  EXPECT_EQ(KinshipOf({0, 2, other_two.digest}, two), Kinship::kAnother);
  EXPECT_EQ(KinshipOf({0, 2, other_two.digest}, three), Kinship::kAnother);
}

TEST(ViewHistoryTest, ViewsOlderThanTheAncestorsCountAsPast) {
  View view = Next(View(), {"n1"});
  const View first = view;
  for (size_t i = 0; i < kMaxAncestors; ++i) view = Next(view, {"n1"});
  EXPECT_EQ(KinshipOf({0, 1, first.digest + 1}, view), Kinship::kAnother);
  view = Next(view, {"n1"});
  EXPECT_EQ(view.ancestors.size(), kMaxAncestors);
  EXPECT_EQ(KinshipOf({0, 1, first.digest + 1}, view), Kinship::kPast);
}

// Older programs have stored such views.
TEST(ViewHistoryTest, AViewWithoutADigestMatchesAnyDigest) {
  View old = Next(View(), {"n1"});
  old.id = 5;
  old.digest = 0;
  EXPECT_EQ(KinshipOf({0, 5, 77}, old), Kinship::kPast);
  const View next = Next(old, {"n1"});
  EXPECT_EQ(KinshipOf({0, 5, 77}, next), Kinship::kPast);
  EXPECT_EQ(KinshipOf({0, 6, 77}, next), Kinship::kAnother);
}

TEST(ViewHistoryTest, AnEpochOutweighsIds) {
  View stored{"c", 6, {}};
  stored.epoch = 2;
  Succeed(View(), &stored);
  EXPECT_EQ(stored.epoch, 2u);
  EXPECT_EQ(KinshipOf({1, 9, 77}, stored), Kinship::kAbandoned);
  EXPECT_EQ(KinshipOf({1, 6, 77}, stored), Kinship::kAbandoned);
  EXPECT_EQ(KinshipOf({1, 5, 77}, stored), Kinship::kPast);
  EXPECT_EQ(KinshipOf({3, 2, 77}, stored), Kinship::kAhead);
  EXPECT_EQ(KinshipOf({0, 7, 77}, stored), Kinship::kAhead);
}

TEST(ViewHistoryTest, AllViewsHaveTheUuidOfTheFirst) {
  View first{"c", 1, {}};
  Succeed(View(), &first);
  EXPECT_EQ(first.cluster_uuid.size(), 16u);
  EXPECT_EQ(first.epoch, 1u);
  View second{"c", 2, {}};
  Succeed(first, &second);
  EXPECT_EQ(second.cluster_uuid, first.cluster_uuid);
  EXPECT_EQ(second.epoch, 1u);
  View other{"other", 1, {}};
  Succeed(View(), &other);
  EXPECT_NE(other.cluster_uuid, first.cluster_uuid);
}

}  // namespace
}  // namespace kamino::membership
