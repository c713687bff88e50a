// The files that TLS goes by: who this process is, and whom it believes.
#ifndef KAMINO_SECURITY_TLS_FILES_H_
#define KAMINO_SECURITY_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace kamino::security {

struct TlsFiles {
  std::string certificate;  // PEM: the own one, then what leads to an authority
  std::string key;          // PEM, without a pass phrase
  std::string authorities;  // PEM
  // A folder with lists of what is revoked, in PEM: *.pem and *.crl. May be
  // empty, or "".
  std::string revoked;

  bool any() const {
    return !certificate.empty() || !key.empty() || !authorities.empty() ||
           !revoked.empty();
  }
};

// kInvalidArgument: some are named, and others that go with them are not.
inline absl::Status CheckComplete(const TlsFiles& files) {
  if (!files.any() || (!files.certificate.empty() && !files.key.empty() &&
                       !files.authorities.empty())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "--tls_cert, --tls_key and --tls_ca go together");
}

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FILES_H_
