#include "membership/records.h"

#include <string>

#include "gtest/gtest.h"
#include "proto/words.h"

namespace kamino::membership {
namespace {

Member Node(const std::string& id, uint64_t incarnation) {
  return Member{id,
                incarnation,
                id + ":1",
                {{"tcp", id + ":2"}, {"shm", "/" + id}},
                1 << 20,
                std::string(16, 'h'),
                {{"ring_mb", {64, 64}}}};
}

View ViewOf(int length) {
  View view{"c", 7, {}, {{"n8", true}, {"n9", false}}, /*chain_id=*/3};
  for (int i = 1; i <= length; ++i) {
    view.members.push_back(Node("n" + std::to_string(i), 10 + i));
  }
  return view;
}

TEST(RecordsTest, ConditionsMatchTheirMessagesAndNames) {
  for (uint32_t i = 0; i <= static_cast<uint32_t>(Condition::kOutrun); ++i) {
    const auto condition = static_cast<Condition>(i);
    EXPECT_EQ(static_cast<uint32_t>(ToProto(condition)), i);
    EXPECT_EQ(FromProto(ToProto(condition)), condition);
    EXPECT_EQ(ConditionName(condition), Word(ToProto(condition)));
  }
  EXPECT_EQ(kamino::v1::Condition_MAX, ToProto(Condition::kOutrun));
}

TEST(RecordsTest, AConditionOfALaterVersionIsUnknown) {
  EXPECT_EQ(FromProto(static_cast<kamino::v1::Condition>(8)),
            Condition::kUnknown);
  EXPECT_EQ(FromProto(static_cast<kamino::v1::Condition>(-1)),
            Condition::kUnknown);
}

TEST(RecordsTest, RolesMatchTheirNames) {
  for (const Role role : {Role::kOutside, Role::kHead, Role::kMiddle,
                          Role::kTail, Role::kSingle}) {
    EXPECT_EQ(RoleName(role), Word(ToProto(role)));
  }
}

TEST(RecordsTest, AReportSurvivesItsMessage) {
  NodeReport report = {3, Condition::kBehind, 2, {5, 4, 1}};
  report.disputed = 5;
  EXPECT_EQ(FromProto(ToProto(report)), report);
  EXPECT_EQ(FromProto(kamino::v1::NodeReport()), NodeReport());
}

TEST(RecordsTest, AMemberSurvivesItsMessage) {
  const Member member = Node("n1", 7);
  const kamino::v1::Member message = ToProto(member);
  EXPECT_EQ(FromProto(message), member);
  EXPECT_EQ(message.role(), kamino::v1::ROLE_UNSPECIFIED);
  EXPECT_EQ(FromProto(kamino::v1::Member()), Member());
}

TEST(RecordsTest, ClientsLearnOnlyTheNameAddressAndRoleOfAMember) {
  const kamino::v1::Member message = PublicMember(ViewOf(3), 2);
  EXPECT_EQ(message.node_id(), "n3");
  EXPECT_EQ(message.address(), "n3:1");
  EXPECT_EQ(message.role(), kamino::v1::ROLE_TAIL);
  EXPECT_FALSE(message.has_instance());
}

TEST(RecordsTest, AViewSurvivesItsRecord) {
  const View view = ViewOf(3);
  EXPECT_EQ(FromProto(ToProto(view)), view);
  EXPECT_EQ(FromProto(ToProto(View())), View());
  EXPECT_EQ(ToProto(view).chain_id(), 3u);
}

}  // namespace
}  // namespace kamino::membership
