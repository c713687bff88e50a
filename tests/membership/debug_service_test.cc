#include "membership/debug_service.h"

#include "gtest/gtest.h"

namespace kamino::membership {
namespace {

TEST(RedactedTest, SecretsAreNotShown) {
  EXPECT_EQ(Redacted("etcd_password", "x"), "(redacted)");
  EXPECT_EQ(Redacted("secret", "x"), "(redacted)");
  EXPECT_EQ(Redacted("join_token", "x"), "(redacted)");
  EXPECT_EQ(Redacted("etcd", "u:p@h:1,h:2"), "(redacted)@h:1,h:2");
  // That there is none is no secret, nor which file it is in.
  EXPECT_EQ(Redacted("etcd_password", ""), "");
  EXPECT_EQ(Redacted("etcd_password_file", "/etc/p"), "/etc/p");
  EXPECT_EQ(Redacted("tls_key", "/etc/key.pem"), "/etc/key.pem");
  EXPECT_EQ(Redacted("listen", "127.0.0.1:1"), "127.0.0.1:1");
}

}  // namespace
}  // namespace kamino::membership
