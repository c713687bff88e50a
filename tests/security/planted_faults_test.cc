// Mistakes of what is believed of certificates: each makes a test of this
// program fail, which is run once more in a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/faults/fault.h"

namespace kamino::security {
namespace {

constexpr char kFault[] = "KAMINO_PLANTED_FAULT";

// Runs before main of the process that is to notice the fault.
[[maybe_unused]] const bool planted = [] {
  const char* const fault = std::getenv(kFault);
  if (fault != nullptr) faults::PlantFault(fault);
  return fault != nullptr;
}();

struct Case {
  const char* fault;  // "": none
  const char* test;   // that notices it
};

class PlantedFaultTest : public testing::TestWithParam<Case> {
 protected:
  // The exit code of that test.
  static int Run(const std::string& fault, const std::string& test) {
    const pid_t child = fork();
    if (child == 0) {
      setenv(kFault, fault.c_str(), /*overwrite=*/1);
      const std::string filter = absl::StrCat("--gtest_filter=", test);
      execl("/proc/self/exe", "planted_faults_test", filter.c_str(),
            "--gtest_brief=1", nullptr);
      _exit(127);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST_P(PlantedFaultTest, IsDetected) {
  EXPECT_EQ(Run("", GetParam().test), 0);
  EXPECT_EQ(Run(GetParam().fault, GetParam().test), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Certificates, PlantedFaultTest,
    testing::Values(
        Case{"certificates-expired-are-believed",
             "CertificatesTest.AcceptsOnlyValidCertificatesOfItsAuthorities"},
        Case{"certificates-of-any-cluster-are-believed",
             "CertificatesTest.AcceptsOnlyValidCertificatesOfItsAuthorities"},
        Case{"certificates-revoked-are-believed",
             "CertificatesTest.RefusesRevokedCertificates"},
        Case{"certificates-lists-gone-are-forgotten",
             "CertificatesTest.ARemovedRevocationListCountsUntilItIsReplaced"},
        Case{"certificates-name-their-holder-anywhere",
             "IdentityTest.NeitherACommonNameNorTwoHoldersAreAnIdentity"},
        Case{"certificates-of-two-holders-are-of-one",
             "IdentityTest.NeitherACommonNameNorTwoHoldersAreAnIdentity"},
        Case{"certificates-for-any-purpose",
             "TlsContextTest.AClientCertificateCannotServe"},
        Case{"certificates-of-another-holder-are-taken",
             "CertificatesTest.KeepsItsCertificateIfTheNewOneIsUnfit"},
        Case{"certificates-are-looked-at-once",
             "CertificatesTest.EndsWatchedPeersThatAreNoLongerValid"}),
    [](const auto& info) {
      std::string name = info.param.fault;
      for (char& c : name) c = c == '-' ? '_' : c;
      return name;
    });

}  // namespace
}  // namespace kamino::security
