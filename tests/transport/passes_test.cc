#include "transport/passes.h"

#include <memory>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/faults/planted.h"
#include "tests/security/test_certificates.h"

namespace kamino::transport {
namespace {

using security::Certificate;
using security::Identity;
using security::Role;

class PassesTest : public ::testing::Test {
 protected:
  PassesTest() {
    PassRegistry::Options options;
    options.max_outstanding = 5;
    options.max_of_holder = 3;
    options.valid = absl::Seconds(10);
    options.now = [this] { return now_; };
    registry_ = std::make_unique<PassRegistry>(options);
  }

  Certificate Of(const std::string& name) {
    auto certificate = Certificate::Parse(
        authority_.Issue({"kamino", Role::kWriter, name}).certificate_pem);
    EXPECT_TRUE(certificate.ok()) << certificate.status();
    return *certificate;
  }

  security::TestAuthority authority_;
  absl::Time now_ = absl::UnixEpoch();
  std::unique_ptr<PassRegistry> registry_;
};

TEST_F(PassesTest, APassBelongsToItsHolderAndIsUsableOnce) {
  const auto pass = registry_->Issue(Of("a"));
  ASSERT_TRUE(pass.ok()) << pass.status();
  EXPECT_EQ(pass->token.size(), kPassBytes);
  EXPECT_EQ(pass->proof.size(), kPassBytes);
  EXPECT_NE(pass->token, pass->proof);
  const auto taken = registry_->Take(pass->token);
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_EQ(taken->holder.identity().name, "a");
  EXPECT_EQ(taken->proof, pass->proof);
  // Replayed.
  EXPECT_TRUE(absl::IsUnauthenticated(registry_->Take(pass->token).status()));
  EXPECT_EQ(registry_->outstanding(), 0u);
}

// The fault that the replay above would notice.
TEST_F(PassesTest, APassThatIsUsableTwiceIsDetected) {
  const auto pass = registry_->Issue(Of("a"));
  ASSERT_TRUE(pass.ok());
  const faults::Planted fault("links-take-passes-twice");
  ASSERT_TRUE(registry_->Take(pass->token).ok());
  EXPECT_TRUE(registry_->Take(pass->token).ok());
}

TEST_F(PassesTest, PassesAreUnique) {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto pass = registry_->Issue(Of("a"));
    ASSERT_TRUE(pass.ok());
    seen.insert(pass->token);
    seen.insert(pass->proof);
    ASSERT_TRUE(registry_->Take(pass->token).ok());
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST_F(PassesTest, AForgedPassIsRefused) {
  const auto pass = registry_->Issue(Of("a"));
  ASSERT_TRUE(pass.ok());
  for (const std::string& wrong :
       {std::string(), std::string(kPassBytes, '\0'), pass->proof,
        pass->token.substr(1), pass->token + "x"}) {
    EXPECT_TRUE(absl::IsUnauthenticated(registry_->Take(wrong).status()));
  }
  EXPECT_TRUE(registry_->Take(pass->token).ok());
}

TEST_F(PassesTest, APassExpires) {
  const auto pass = registry_->Issue(Of("a"));
  ASSERT_TRUE(pass.ok());
  now_ += absl::Seconds(10);
  EXPECT_TRUE(absl::IsUnauthenticated(registry_->Take(pass->token).status()));
  EXPECT_EQ(registry_->outstanding(), 0u);
}

TEST_F(PassesTest, OutstandingPassesAreBounded) {
  const Certificate a = Of("a");
  const Certificate b = Of("b");
  const auto first = registry_->Issue(a);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(registry_->Issue(a).ok());
  ASSERT_TRUE(registry_->Issue(a).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(registry_->Issue(a).status()));
  // A holder's passes do not keep out other holders, up to the total limit.
  ASSERT_TRUE(registry_->Issue(b).ok());
  ASSERT_TRUE(registry_->Issue(b).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(registry_->Issue(b).status()));
  ASSERT_TRUE(registry_->Take(first->token).ok());
  EXPECT_TRUE(registry_->Issue(a).ok());
  now_ += absl::Seconds(11);
  EXPECT_TRUE(registry_->Issue(b).ok());
  EXPECT_EQ(registry_->outstanding(), 1u);
}

}  // namespace
}  // namespace kamino::transport
