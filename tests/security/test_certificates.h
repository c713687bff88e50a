// Certificates for tests: an authority of its own, and files as programs want
// them, in a folder of the test's.
#ifndef KAMINO_TESTS_SECURITY_TEST_CERTIFICATES_H_
#define KAMINO_TESTS_SECURITY_TEST_CERTIFICATES_H_

#include <string>

#include "absl/time/time.h"
#include "security/authority.h"
#include "security/certificates.h"
#include "security/identity.h"

namespace kamino::security {

void WriteText(const std::string& path, const std::string& text);
std::string ReadText(const std::string& path);
// An empty folder.
std::string NewFolder();

class TestAuthority {
 public:
  // Since an hour ago, for a day.
  explicit TestAuthority(const std::string& name = "test");

  const Authority& authority() const { return authority_; }
  Validity validity() const { return validity_; }

  Issued Issue(const Identity& identity) const;
  Issued Issue(const Identity& identity, Validity validity) const;
  // Files of one holder, with an empty folder for lists.
  TlsFiles Write(const Issued& issued) const;
  TlsFiles Write(const Identity& identity) const {
    return Write(Issue(identity));
  }
  // Loaded; looks at its files only when told.
  std::unique_ptr<Certificates> Load(
      const Identity& identity,
      std::function<absl::Time()> now = nullptr) const;
  // Adds to the list in the folder of `files`.
  void Revoke(const std::string& certificate_pem, const TlsFiles& files) const;

 private:
  Validity validity_;
  Authority authority_;
};

}  // namespace kamino::security

#endif  // KAMINO_TESTS_SECURITY_TEST_CERTIFICATES_H_
