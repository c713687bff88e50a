#include "security/roles.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/access.h"
#include "security/role_file.h"
#include "tests/security/test_certificates.h"

namespace kamino::security {
namespace {

using ::testing::HasSubstr;

const Identity kBilling = {"c", Role::kWriter, "billing-1"};

absl::StatusOr<RoleMap> Read(const std::string& text) {
  const std::string path = NewFolder() + "/roles.toml";
  WriteText(path, text);
  return ReadRoleFile(path);
}
std::string ErrorOf(const std::string& text) {
  return std::string(Read(text).status().message());
}

TEST(RolesTest, PatternsMatchStars) {
  EXPECT_TRUE(Matches("kamino://c/writer/a", "kamino://c/writer/a"));
  EXPECT_FALSE(Matches("kamino://c/writer/a", "kamino://c/writer/ab"));
  EXPECT_TRUE(Matches("kamino://c/writer/*", "kamino://c/writer/ab"));
  EXPECT_TRUE(Matches("kamino://c/*/a", "kamino://c/reader/a"));
  EXPECT_FALSE(Matches("kamino://*/a", "kamino://c/reader/a"))
      << "a star has no slash";
  EXPECT_TRUE(Matches("kamino://c/writer/a*c*e", "kamino://c/writer/abcbcde"));
  EXPECT_FALSE(Matches("kamino://c/writer/a*c*e", "kamino://c/writer/abde"));
  EXPECT_TRUE(Matches("kamino://*1/*x", "kamino://a1b1/cx"));
  EXPECT_FALSE(Matches("", "a"));
  EXPECT_TRUE(Matches("*", ""));
}

TEST(RolesTest, TheCertificateDecidesWithoutATable) {
  const Grant grant = RoleMap().GrantOf(kBilling);
  EXPECT_EQ(grant.roles, RoleSet({Role::kWriter}));
  EXPECT_EQ(grant.principal->name, "kamino://c/writer/billing-1");
  EXPECT_TRUE(grant.principal->scope.has_all());
}

TEST(RolesTest, TheFirstMatchingRuleCounts) {
  const auto map = Read(R"(
[[grant]]
identity = "kamino://c/writer/billing-*"
roles = ["writer"]
prefixes = ["billing/", "shared/"]

[[grant]]
identity = "kamino://c/writer/*"
roles = ["reader"]

[[grant]]
identity = "kamino://c/operator/gone"
roles = []
)");
  ASSERT_TRUE(map.ok()) << map.status();
  const Grant billing = map->GrantOf(kBilling);
  EXPECT_EQ(billing.roles, RoleSet({Role::kWriter}));
  EXPECT_EQ(billing.principal->scope.Describe(),
            "\"billing/\" and \"shared/\"");
  const Grant other = map->GrantOf({"c", Role::kWriter, "other"});
  EXPECT_EQ(other.roles, RoleSet({Role::kReader}));
  EXPECT_TRUE(other.principal->scope.has_all());
  EXPECT_TRUE(map->GrantOf({"c", Role::kOperator, "gone"}).roles.empty());
  EXPECT_EQ(map->GrantOf({"c", Role::kOperator, "ann"}).roles,
            RoleSet({Role::kOperator}));
}

TEST(RolesTest, OthersMayHaveNothing) {
  const auto map = Read("others = \"nothing\"");
  ASSERT_TRUE(map.ok()) << map.status();
  const Grant grant = map->GrantOf(kBilling);
  EXPECT_TRUE(grant.roles.empty());
  EXPECT_FALSE(grant.principal->scope.Has("billing/1"));
}

TEST(RolesTest, AnErrorNamesItsLine) {
  EXPECT_THAT(ErrorOf("other = 1"),
              HasSubstr("roles.toml:1: there is no key other (did you mean "
                        "others?)"));
  EXPECT_THAT(ErrorOf("others = \"all\""), HasSubstr("others is \"nothing\""));
  EXPECT_THAT(ErrorOf("[[grant]]\nroles = []"), HasSubstr("needs an identity"));
  const std::string grant = "[[grant]]\nidentity = \"kamino://c/writer/a\"\n";
  EXPECT_THAT(ErrorOf(grant), HasSubstr(":1: a grant needs roles"));
  EXPECT_THAT(ErrorOf(grant + "roles = [\"king\"]"),
              HasSubstr(":3: there is no role king; there are node, manager"));
  EXPECT_THAT(ErrorOf(grant + "roles = [\"writer\"]\nprefixes = []"),
              HasSubstr(":4: prefixes is a list of 1 to 1000 texts"));
  EXPECT_THAT(ErrorOf(grant + "roles = [\"writer\"]\nprefixes = [\"\"]"),
              HasSubstr("leave prefixes out for all keys"));
  EXPECT_THAT(ErrorOf(grant + "roles = [\"operator\"]\nprefixes = [\"a\"]"),
              HasSubstr("prefixes need the role writer or reader"));
  EXPECT_THAT(ErrorOf("grant = 1"), HasSubstr("[[grant]]"));
  // Such a grant would not bind its identity.
  for (const char* unmatched :
       {"kamino://c/writter/a", "kamino://c/writer", "kamino://c/writer/a ",
        "kamino://c/writer/a/", "kamino://c//a", "kamino://**********",
        "kamino://c/WRITER/a", "kamino://c/x*/a"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("[[grant]]\nidentity = \"", unmatched,
                                     "\"\nroles = []")),
                HasSubstr(absl::StrCat(":2: no identity can match ", unmatched,
                                       "; it is")));
  }
  for (const char* some : {"kamino://*/*/*", "kamino://c/w*r/*.x-_1"}) {
    EXPECT_TRUE(
        Read(absl::StrCat("[[grant]]\nidentity = \"", some, "\"\nroles = []"))
            .ok());
  }
  EXPECT_THAT(std::string(ReadRoleFile("/none").status().message()),
              HasSubstr("/none: the configuration file cannot be read"));
}

const AccessRule* Put() { return RuleOfCall("/kamino.v1.KaminoService/Put"); }

TEST(AccessTest, ADenialNamesTheIdentityAndTheRole) {
  Access access{RoleMap()};
  EXPECT_TRUE(access.Check(access.GrantOf(kBilling).get(), Put(), "Put").ok());
  const GrantPtr reader = access.GrantOf({"c", Role::kReader, "r"});
  const absl::Status denied = access.Check(reader.get(), Put(), "Put");
  EXPECT_TRUE(absl::IsPermissionDenied(denied));
  EXPECT_EQ(
      std::string(denied.message()),
      "Put requires the role writer; kamino://c/reader/r has the role reader");
  EXPECT_TRUE(absl::IsUnauthenticated(access.Check(nullptr, Put(), "Put")));
  // A method without a rule is denied to every role.
  EXPECT_TRUE(absl::IsPermissionDenied(
      access.Check(reader.get(), RuleOfCall("/x/Y"), "/x/Y")));
  EXPECT_EQ(access.GrantOf("no identity"), nullptr);
  access.Note(absl::PermissionDeniedError("a key"), "Put",
              reader->principal.get());
  access.Note(absl::NotFoundError("a key"), "Put", reader->principal.get());
  EXPECT_EQ(access.counts().denied, 3u);
  EXPECT_EQ(access.counts().unauthenticated, 1u);
}

TEST(AccessTest, ReloadsAndKeepsTheTableIfTheNewOneIsInvalid) {
  const std::string path = NewFolder() + "/roles.toml";
  WriteText(path, "others = \"nothing\"");
  auto access = Access::Open(path);
  ASSERT_TRUE(access.ok()) << access.status();
  int changes = 0;
  (*access)->OnChange([&changes](const RoleMap& before, const RoleMap& now) {
    EXPECT_FALSE(before.GrantOf(kBilling) == now.GrantOf(kBilling));
    ++changes;
  });
  EXPECT_TRUE((*access)->GrantOf(kBilling)->roles.empty());
  WriteText(path, "others = \"by certificate\"");
  const uint64_t before = (*access)->generation();
  EXPECT_TRUE((*access)->Reload().ok());
  EXPECT_NE((*access)->generation(), before);
  EXPECT_TRUE((*access)->GrantOf(kBilling)->roles.Has(Role::kWriter));
  WriteText(path, "nonsense");
  EXPECT_FALSE((*access)->Reload().ok());
  EXPECT_TRUE((*access)->GrantOf(kBilling)->roles.Has(Role::kWriter));
  EXPECT_EQ(changes, 1);
  EXPECT_EQ((*access)->counts().failed_reloads, 1u);
  EXPECT_FALSE(Access::Open("/none").ok());
}

}  // namespace
}  // namespace kamino::security
