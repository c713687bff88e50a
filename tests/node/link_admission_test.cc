#include "node/link_admission.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::node {
namespace {

using ::testing::HasSubstr;

std::string Refusal(const std::string& identity,
                    std::shared_ptr<security::Access> access = nullptr) {
  const absl::Status status = AdmitNodes("c", std::move(access))(identity);
  if (status.ok()) return "";
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  return std::string(status.message());
}

TEST(LinkAdmissionTest, NodesOfTheClusterMayHaveLinks) {
  EXPECT_EQ(Refusal("kamino://c/node/n1"), "");
  EXPECT_THAT(Refusal("kamino://c/writer/n1"),
              HasSubstr("kamino://c/writer/n1 is writer"));
  EXPECT_THAT(Refusal("kamino://c/manager/m1"), HasSubstr("is manager"));
  EXPECT_THAT(Refusal("kamino://d/node/n1"), HasSubstr("nobody of cluster c"));
  EXPECT_THAT(Refusal(""), HasSubstr("nobody of cluster c"));
  EXPECT_THAT(Refusal("n1"), HasSubstr("nobody of cluster c"));
}

TEST(LinkAdmissionTest, RolesDecideAsTheyAreNow) {
  const auto access = std::make_shared<security::Access>(security::RoleMap());
  EXPECT_EQ(Refusal("kamino://c/node/n1", access), "");
  access->Replace(security::RoleMap(
      {{.pattern = "kamino://c/node/n1", .roles = {}}}, /*only_rules=*/false));
  EXPECT_THAT(Refusal("kamino://c/node/n1", access), HasSubstr("is no role"));
  EXPECT_EQ(Refusal("kamino://c/node/n2", access), "");
}

}  // namespace
}  // namespace kamino::node
