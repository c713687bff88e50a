#include "security/tls_flags.h"

#include <string>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "security/in_the_clear.h"
#include "tests/security/test_certificates.h"

ABSL_DECLARE_FLAG(std::string, tls_cert);
ABSL_DECLARE_FLAG(std::string, tls_key);
ABSL_DECLARE_FLAG(std::string, tls_ca);
ABSL_DECLARE_FLAG(bool, insecure);

namespace kamino::security {
namespace {

using testing::HasSubstr;

const Identity kNode1 = {"c", Role::kNode, "n1"};

class TlsFlagsTest : public testing::Test {
 protected:
  void Set(const TlsFiles& files) {
    absl::SetFlag(&FLAGS_tls_cert, files.certificate);
    absl::SetFlag(&FLAGS_tls_key, files.key);
    absl::SetFlag(&FLAGS_tls_ca, files.authorities);
  }
  std::string Error() {
    return std::string(CertificatesOfFlags(kNode1).status().message());
  }

  absl::FlagSaver saver_;
  TestAuthority authority_;
};

TEST_F(TlsFlagsTest, NoFlagsMeanPlaintext) {
  EXPECT_EQ(*CertificatesOfFlags(kNode1), nullptr);
}

TEST_F(TlsFlagsTest, AllFlagsMeanCertificates) {
  Set(authority_.Write(kNode1));
  EXPECT_EQ((*CertificatesOfFlags(kNode1))->identity(), kNode1);
}

TEST_F(TlsFlagsTest, InconsistentFlagsAreAnError) {
  const TlsFiles files = authority_.Write(kNode1);
  Set({files.certificate, "", files.authorities, ""});
  EXPECT_EQ(CheckTlsFlags({}).message(),
            "--tls_cert and --tls_ca are given, but --tls_key is missing, and "
            "they go together: give --tls_key=FILE, or set tls_key in the "
            "configuration file");
  Set(authority_.Write({"c", Role::kNode, "n2"}));
  EXPECT_THAT(Error(), HasSubstr("is the certificate of kamino://c/node/n2"));
  Set(authority_.Write({"other", Role::kNode, "n1"}));
  EXPECT_THAT(Error(), HasSubstr("is of another cluster than c"));
  Set(files);
  absl::SetFlag(&FLAGS_insecure, true);
  EXPECT_THAT(CheckTlsFlags({}).message(), HasSubstr("contradict"));
}

TEST_F(TlsFlagsTest, OnlyLoopbackIsAllowedInPlaintext) {
  for (const char* const address : {"127.0.0.1:1", "127.1.2.3:1", "localhost:1",
                                    "[::1]:1", "::1", "LOCALHOST"}) {
    EXPECT_TRUE(CheckInTheClear("--listen", address, false).ok()) << address;
    EXPECT_TRUE(CheckTlsFlags({{"listen", address}}).ok()) << address;
  }
  for (const char* const address :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "kamino.example:1", "128.0.0.1:1",
        "localhost.example:1", "", "127.0.0.1.example:1", ":1"}) {
    EXPECT_THAT(CheckTlsFlags({{"listen", address}}).message(),
                HasSubstr("--insecure"))
        << address;
    EXPECT_TRUE(CheckInTheClear("--listen", address, true).ok());
  }
}

}  // namespace
}  // namespace kamino::security
