// The TLS files of this process: whether they have changed, and the
// certificates in them.
#ifndef KAMINO_SECURITY_CERTIFICATE_FILES_H_
#define KAMINO_SECURITY_CERTIFICATE_FILES_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "security/certificate.h"
#include "security/tls_files.h"
#include "security/tls_texts.h"
#include "security/trust.h"

namespace kamino::security {

// Certificates that fit together.
struct CertificateSet {
  std::string certificate_pem;
  std::string key_pem;
  std::string authorities_pem;
  Certificate own;
  KeyPointer key;
  std::shared_ptr<const Trust> trust;
};

// Not thread-safe: a mutex of Certificates guards it.
class CertificateFiles {
 public:
  explicit CertificateFiles(TlsFiles files) : files_(std::move(files)) {}

  const TlsFiles& files() const { return files_; }
  // Reads the files. False: they are as they were at the last call.
  bool Read();
  // Parses the contents that Read found. `before`: the set in use, whose
  // revocation lists stay in force; null: there is none. kInvalidArgument: a
  // file is missing, cannot be read, or does not fit the others.
  absl::StatusOr<std::shared_ptr<const CertificateSet>> Parse(
      const CertificateSet* before) const;

 private:
  const TlsFiles files_;
  TlsTexts texts_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATE_FILES_H_
