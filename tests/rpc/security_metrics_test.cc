#include "rpc/security_metrics.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "metrics/page.h"
#include "security/access.h"
#include "security/access_table.h"
#include "tests/security/test_certificates.h"

namespace kamino::rpc {
namespace {

using ::testing::HasSubstr;

TEST(SecurityMetricsTest, IsEmptyWithoutTls) {
  metrics::Families families;
  SecuritySource(nullptr, nullptr)(&families);
  EXPECT_TRUE(families.Take().empty());
}

TEST(SecurityMetricsTest, ShowsCertificatesAndRefusals) {
  const security::TestAuthority authority;
  const auto access = std::make_shared<security::Access>(security::RoleMap());
  metrics::Page page;
  page.Add(SecuritySource(
      *Credentials::Make(authority.Load({"c", security::Role::kNode, "n1"})),
      access));
  EXPECT_FALSE(access->Check(nullptr, security::RuleOfRequest(1), "GET").ok());
  const auto reader =
      access->GrantOf(security::Identity{"c", security::Role::kReader, "r"});
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(
        access->Check(reader.get(), security::RuleOfRequest(3), "PUT").ok());
  }
  const std::string text = page.Text();
  EXPECT_THAT(text,
              HasSubstr("\nkamino_denied_calls_total{reason=\"denied\"} 2\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nkamino_denied_calls_total{reason=\"unauthenticated\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\nkamino_certificate_reloads_total{result=\"failed\"} 0\n"));
  // As a test authority issues them: for a day, since an hour ago.
  double not_before = 0;
  double not_after = 0;
  for (const auto& family : page.Collect()) {
    if (family.name == "kamino_certificate_not_before_timestamp_seconds") {
      not_before = family.metric[0].gauge.value;
    }
    if (family.name == "kamino_certificate_not_after_timestamp_seconds") {
      not_after = family.metric[0].gauge.value;
    }
  }
  EXPECT_NEAR(
      not_before,
      absl::ToDoubleSeconds(authority.validity().from - absl::UnixEpoch()), 1);
  EXPECT_NEAR(
      not_after,
      absl::ToDoubleSeconds(authority.validity().until - absl::UnixEpoch()), 1);
}

}  // namespace
}  // namespace kamino::rpc
