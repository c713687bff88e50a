#include "client/cli/json.h"

#include "google/protobuf/struct.pb.h"
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
  link->set_role(kamino::v1::LINK_ROLE_SUCCESSOR);
  const std::string json = ToJson(status);
  for (const char* part : {R"("role":"head")", R"("condition":"receiving")",
                           R"("kind":"dynamic")", R"("role":"successor")"}) {
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

TEST(JsonTest, TextInStringsIsNotTranslated) {
  const std::string name = R"(","role":"ROLE_HEAD)";
  kamino::v1::Member member;
  member.set_node_id(name);
  member.set_role(kamino::v1::ROLE_TAIL);
  EXPECT_EQ(ToJson(member), R"({"node_id":"\",\"role\":\"ROLE_HEAD",)"
                            R"("address":"","role":"tail"})");
}

// Maps hold names and values of any kind.
TEST(JsonTest, MapEntriesAreNotTranslated) {
  kamino::v1::Member member;
  (*member.mutable_instance()->mutable_link_addresses())["role"] = "ROLE_HEAD";
  (*member.mutable_instance()->mutable_link_addresses())["a\\"] = "{[\"";
  member.set_role(kamino::v1::ROLE_TAIL);
  const std::string json = ToJson(member);
  for (const char* part :
       {R"("role":"ROLE_HEAD")", R"("a\\":"{[\"")", R"("role":"tail")"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
}

TEST(JsonTest, UnknownEnumValuesAreUnknown) {
  kamino::v1::Member member;
  member.set_role(static_cast<kamino::v1::Role>(77));
  EXPECT_EQ(ToJson(member), R"({"node_id":"","address":"","role":"unknown"})");
  kamino::v1::GetOutcomeResponse outcome;
  outcome.set_outcome(static_cast<kamino::v1::Outcome>(77));
  EXPECT_NE(ToJson(outcome).find(R"("outcome":77)"), std::string::npos);
}

TEST(JsonTest, MessagesOfOtherPackagesAreUnchanged) {
  kamino::v1::GetNodeStatusResponse status;
  status.add_links()->set_role(kamino::v1::LINK_ROLE_SUCCESSOR);
  status.add_links();
  const std::string json = ToJson(status);
  EXPECT_NE(json.find(R"("role":"successor")"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("role":"unknown")"), std::string::npos) << json;
  google::protobuf::Struct any;
  auto* list = (*any.mutable_fields())["fields"].mutable_list_value();
  list->add_values()->set_string_value("ROLE_HEAD");
  list->add_values()->mutable_struct_value();
  list->add_values()->set_number_value(-1.5);
  list->add_values()->mutable_list_value();
  list->add_values()->set_bool_value(true);
  EXPECT_EQ(ToJson(any), R"({"fields":["ROLE_HEAD",{},-1.5,[],true]})");
}

}  // namespace
}  // namespace kamino::client
