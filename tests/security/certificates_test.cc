#include "security/certificates.h"

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/authority.h"
#include "tests/patience.h"
#include "tests/security/test_certificates.h"

namespace kamino::security {
namespace {

using testing::HasSubstr;

const Identity kNode1 = {"c", Role::kNode, "n1"};
const Identity kWriter = {"c", Role::kWriter, "app"};

class CertificatesTest : public testing::Test {
 protected:
  CertificatesTest() : issued_(authority_.Issue(kNode1)) {
    options_.files = authority_.Write(issued_);
    options_.now = [this] { return now_; };
    options_.look = absl::InfiniteDuration();
  }

  std::unique_ptr<Certificates> Load() {
    auto made = Certificates::Load(options_);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::string LoadError() {
    return std::string(Certificates::Load(options_).status().message());
  }
  Certificate Peer(const Identity& identity) {
    return *Certificate::Parse(authority_.Issue(identity).certificate_pem);
  }

  TestAuthority authority_;
  Issued issued_;
  Certificates::Options options_;
  absl::Time now_ = absl::Now();
};

TEST_F(CertificatesTest, KnowsItsIdentity) {
  const auto certificates = Load();
  EXPECT_EQ(certificates->identity(), kNode1);
  const auto set = certificates->Current();
  EXPECT_EQ(set->certificate_pem, issued_.certificate_pem);
  EXPECT_EQ(set->own.serial().size(), 32);
  EXPECT_LT(
      absl::AbsDuration(set->own.not_after() - authority_.validity().until),
      absl::Seconds(2));
}

TEST_F(CertificatesTest, NamesTheErrorInAFile) {
  const std::string key = ReadText(options_.files.key);
  WriteText(options_.files.key, authority_.Issue(kNode1).key_pem);
  EXPECT_THAT(LoadError(), HasSubstr("is not the key of the certificate in"));
  WriteText(options_.files.key, "nothing");
  EXPECT_THAT(LoadError(), HasSubstr("own.key has no private key in PEM"));
  WriteText(options_.files.key, key);
  WriteText(options_.files.authorities, issued_.certificate_pem);
  EXPECT_THAT(LoadError(), HasSubstr("is not the certificate of an authority"));
  WriteText(options_.files.authorities,
            std::string(TestAuthority().authority().certificate_pem()));
  EXPECT_THAT(LoadError(), HasSubstr("would be refused: kamino://c/node/n1"));
  options_.files.authorities += ".missing";
  EXPECT_THAT(LoadError(), HasSubstr("ca.pem.missing cannot be read"));
}

TEST_F(CertificatesTest, AHalfWrittenCertificateIsRefused) {
  WriteText(
      options_.files.certificate,
      issued_.certificate_pem.substr(0, issued_.certificate_pem.size() / 2));
  EXPECT_THAT(LoadError(), HasSubstr("own.pem has"));
}

TEST_F(CertificatesTest, AcceptsOnlyValidCertificatesOfItsAuthorities) {
  const auto certificates = Load();
  const Certificate peer = Peer(kWriter);
  EXPECT_TRUE(certificates->Check(peer).ok());
  const Certificate foreign =
      *Certificate::Parse(TestAuthority().Issue(kWriter).certificate_pem);
  EXPECT_EQ(certificates->Check(foreign).code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(certificates->Check(Peer({"other", Role::kNode, "n1"})).message(),
              HasSubstr("kamino://other/node/n1 (certificate "));
  now_ = authority_.validity().until + absl::Seconds(1);
  EXPECT_THAT(certificates->Check(peer).message(), HasSubstr("has expired"));
  now_ = authority_.validity().from - absl::Minutes(1);
  EXPECT_THAT(certificates->Check(peer).message(), HasSubstr("not yet valid"));
}

TEST_F(CertificatesTest, AHoldersCertificateIsNotAnAuthority) {
  const Issued app = authority_.Issue(kWriter);
  EXPECT_THAT(Authority::Open(app).status().message(),
              HasSubstr("not of an authority"));
}

TEST_F(CertificatesTest, RefusesRevokedCertificates) {
  const auto certificates = Load();
  const Issued app = authority_.Issue(kWriter);
  const Certificate peer = *Certificate::Parse(app.certificate_pem);
  authority_.Revoke(app.certificate_pem, options_.files);
  EXPECT_TRUE(certificates->Check(peer).ok());
  certificates->Look();
  EXPECT_THAT(certificates->Check(peer).message(), HasSubstr("revoked"));
  EXPECT_TRUE(certificates->Check(Peer(kWriter)).ok());
  // One more on the list leaves the first there.
  const Issued more = authority_.Issue(kWriter);
  authority_.Revoke(more.certificate_pem, options_.files);
  certificates->Look();
  EXPECT_FALSE(certificates->Check(peer).ok());
  EXPECT_FALSE(
      certificates->Check(*Certificate::Parse(more.certificate_pem)).ok());
}

TEST_F(CertificatesTest, ARemovedRevocationListCountsUntilItIsReplaced) {
  const Issued app = authority_.Issue(kWriter);
  const Certificate peer = *Certificate::Parse(app.certificate_pem);
  authority_.Revoke(app.certificate_pem, options_.files);
  const auto certificates = Load();
  EXPECT_FALSE(certificates->Check(peer).ok());
  const std::string list = options_.files.revoked + "/list.pem";
  ASSERT_TRUE(std::filesystem::remove(list));
  certificates->Look();
  EXPECT_THAT(certificates->Check(peer).message(), HasSubstr("revoked"));
  EXPECT_EQ(certificates->Current()->trust->kept_lists(), 1);
  // Also when something else changes after that.
  const Issued next = authority_.Issue(kNode1);
  WriteText(options_.files.key, next.key_pem);
  WriteText(options_.files.certificate, next.certificate_pem);
  certificates->Look();
  EXPECT_EQ(certificates->Current()->certificate_pem, next.certificate_pem);
  EXPECT_FALSE(certificates->Check(peer).ok());
  // A list that revokes another certificate takes its place.
  authority_.Revoke(authority_.Issue(kWriter).certificate_pem, options_.files);
  certificates->Look();
  EXPECT_TRUE(certificates->Check(peer).ok());
  EXPECT_EQ(certificates->Current()->trust->kept_lists(), 0);
}

TEST_F(CertificatesTest, DoesNotWaitForAPipe) {
  const std::string list = options_.files.revoked + "/pipe.pem";
  ASSERT_EQ(mkfifo(list.c_str(), 0600), 0);
  EXPECT_THAT(LoadError(),
              HasSubstr("pipe.pem cannot be read: it is no regular"));
  ASSERT_TRUE(std::filesystem::remove(list));
  const auto certificates = Load();
  ASSERT_TRUE(std::filesystem::remove(options_.files.certificate));
  ASSERT_EQ(mkfifo(options_.files.certificate.c_str(), 0600), 0);
  certificates->Look();
  EXPECT_EQ(certificates->counts().failed_reloads, 1);
  EXPECT_EQ(certificates->Current()->certificate_pem, issued_.certificate_pem);
  options_.files.authorities = "/dev/zero";
  EXPECT_THAT(LoadError(), HasSubstr("no regular file"));
}

TEST_F(CertificatesTest, ARevocationListOfAnotherAuthorityIsRefused) {
  const auto certificates = Load();
  const TestAuthority other;
  other.Revoke(other.Issue(kWriter).certificate_pem, options_.files);
  certificates->Look();
  EXPECT_EQ(certificates->counts().failed_reloads, 1);
  EXPECT_THAT(LoadError(), HasSubstr("no trusted authority has signed"));
}

TEST_F(CertificatesTest, ReloadsFilesOnceTheyMatch) {
  const auto certificates = Load();
  std::vector<std::string> seen;
  certificates->OnChange([&seen](const Certificates::Set& set) {
    seen.push_back(set.certificate_pem);
  });
  certificates->Look();
  const Issued next = authority_.Issue(kNode1);
  // Half of a renewal: a certificate without its key.
  WriteText(options_.files.certificate, next.certificate_pem);
  certificates->Look();
  certificates->Look();
  EXPECT_EQ(certificates->Current()->certificate_pem, issued_.certificate_pem);
  EXPECT_EQ(certificates->counts().failed_reloads, 1);
  WriteText(options_.files.key, next.key_pem);
  certificates->Look();
  EXPECT_EQ(certificates->Current()->certificate_pem, next.certificate_pem);
  EXPECT_EQ(certificates->Current()->key_pem, next.key_pem);
  EXPECT_EQ(certificates->counts().reloads, 1);
  EXPECT_EQ(seen, (std::vector<std::string>{issued_.certificate_pem,
                                            next.certificate_pem}));
}

TEST_F(CertificatesTest, KeepsItsCertificateIfTheNewOneIsUnfit) {
  const auto certificates = Load();
  const auto replace = [this](const Issued& issued) {
    WriteText(options_.files.certificate, issued.certificate_pem);
    WriteText(options_.files.key, issued.key_pem);
  };
  replace(authority_.Issue({"c", Role::kNode, "n2"}));
  certificates->Look();
  replace(
      authority_.Issue(kNode1, {now_ - absl::Hours(2), now_ - absl::Hours(1)}));
  certificates->Look();
  replace(TestAuthority().Issue(kNode1));
  certificates->Look();
  EXPECT_EQ(certificates->counts().failed_reloads, 3);
  EXPECT_EQ(certificates->Current()->certificate_pem, issued_.certificate_pem);
}

TEST_F(CertificatesTest, EndsWatchedPeersThatAreNoLongerValid) {
  const auto certificates = Load();
  const Issued app = authority_.Issue(kWriter);
  std::vector<std::string> ended;
  const auto note = [&ended](const char* who) {
    return [&ended, who](const absl::Status& why) {
      ended.push_back(who);
      EXPECT_THAT(why.message(), HasSubstr("kamino://c/"));
    };
  };
  const Certificate peer = *Certificate::Parse(app.certificate_pem);
  const auto one = certificates->watches()->WatchPeer(peer, note("one"));
  auto left = certificates->watches()->WatchPeer(peer, note("left"));
  const auto other =
      certificates->watches()->WatchPeer(Peer(kNode1), note("other"));
  certificates->Look();
  EXPECT_TRUE(ended.empty());
  left.reset();
  authority_.Revoke(app.certificate_pem, options_.files);
  certificates->Look();
  certificates->Look();
  EXPECT_EQ(ended, std::vector<std::string>{"one"});
  now_ = authority_.validity().until + absl::Seconds(1);
  certificates->Look();
  EXPECT_EQ(ended, (std::vector<std::string>{"one", "other"}));
  EXPECT_EQ(certificates->counts().ended, 2);
}

TEST_F(CertificatesTest, LooksForChangesByItself) {
  options_.look = absl::Milliseconds(1);
  const auto certificates = Load();
  absl::Notification changed;
  certificates->OnChange([&](const Certificates::Set& set) {
    if (set.certificate_pem != issued_.certificate_pem) changed.Notify();
  });
  const Issued next = authority_.Issue(kNode1);
  WriteText(options_.files.key, next.key_pem);
  WriteText(options_.files.certificate, next.certificate_pem);
  EXPECT_TRUE(
      changed.WaitForNotificationWithTimeout(Patience(absl::Seconds(20))));
}

TEST(AuthorityTest, RefusesNamesThatCannotBeInACertificate) {
  const TestAuthority authority;
  const auto issue = [&](const Holder& holder) {
    return authority.authority().Issue(holder, authority.validity()).status();
  };
  EXPECT_TRUE(issue({kNode1, {"host.example", "::1"}}).ok());
  for (const char* const host :
       {"a,URI:kamino://c/operator/x", "", "a b", "n1.operator.c.kamino"}) {
    EXPECT_FALSE(issue({kNode1, {host}}).ok()) << host;
  }
  EXPECT_FALSE(issue({{"c", Role::kNode, "a/b"}, {}}).ok());
  EXPECT_FALSE(issue({{"", Role::kNode, "a"}, {}}).ok());
}

TEST(AuthorityTest, DoesNotRevokeCertificatesOfAnotherAuthority) {
  const TestAuthority authority;
  const TestAuthority other;
  EXPECT_FALSE(authority.authority()
                   .Revoke("", other.Issue(kNode1).certificate_pem, absl::Now(),
                           absl::Now() + absl::Hours(1))
                   .ok());
}

}  // namespace
}  // namespace kamino::security
