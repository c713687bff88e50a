#include "client/cli/json.h"

#include "gtest/gtest.h"
#include "kamino/v1/kamino.pb.h"

namespace kamino::client {
namespace {

TEST(JsonTest, RolesConditionsAndKindsAreWords) {
  kamino::v1::GetNodeStatusResponse status;
  status.set_role(kamino::v1::ROLE_HEAD);
  status.set_condition(kamino::v1::CONDITION_RECEIVING);
  status.mutable_undo_copy()->set_kind(kamino::v1::UNDO_COPY_KIND_DYNAMIC);
  auto* link = status.add_links();
  link->set_peer("n2");
  link->set_purpose(kamino::v1::LINK_KIND_SUCCESSOR);
  const std::string json = ToJson(status);
  for (const char* part : {R"("role":"head")", R"("condition":"receiving")",
                           R"("kind":"dynamic")", R"("purpose":"successor")"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  EXPECT_EQ(ToJson(kamino::v1::Member()),
            R"({"node_id":"","address":"","role":"unknown"})");
}

TEST(JsonTest, OutcomesHaveTheirFullNames) {
  kamino::v1::GetOutcomeResponse outcome;
  outcome.set_outcome(kamino::v1::OUTCOME_SUPERSEDED);
  EXPECT_NE(ToJson(outcome).find(R"("outcome":"OUTCOME_SUPERSEDED")"),
            std::string::npos);
}

TEST(JsonTest, WhatIsWithinAStringStays) {
  const std::string name = R"(","role":"ROLE_HEAD)";
  kamino::v1::Member member;
  member.set_node_id(name);
  member.set_role(kamino::v1::ROLE_TAIL);
  EXPECT_EQ(ToJson(member), R"({"node_id":"\",\"role\":\"ROLE_HEAD",)"
                            R"("address":"","role":"tail"})");
}

}  // namespace
}  // namespace kamino::client
