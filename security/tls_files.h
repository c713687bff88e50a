// The TLS files of a process: its own certificate, and those that it trusts.
#ifndef KAMINO_SECURITY_TLS_FILES_H_
#define KAMINO_SECURITY_TLS_FILES_H_

#include <string>

#include "absl/status/status.h"

namespace kamino::security {

struct TlsFiles {
  std::string certificate;  // PEM: its own, then the intermediates
  std::string key;          // PEM, without a pass phrase
  std::string authorities;  // PEM
  // A folder with revocation lists in PEM: *.pem and *.crl. May be empty, or
  // "".
  std::string revoked;

  bool any() const {
    return !certificate.empty() || !key.empty() || !authorities.empty() ||
           !revoked.empty();
  }
};

// How the files are named, for error messages.
enum class TlsNamedBy {
  kFlags,           // flags of a program, and its configuration file
  kEnvironmentToo,  // the command line's flags, environment and file
};

// kInvalidArgument: some files are named, but others that they need are not.
// The message begins with the flag of a named one, and says which are missing
// and how to name them.
absl::Status CheckComplete(const TlsFiles& files,
                           TlsNamedBy by = TlsNamedBy::kFlags);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FILES_H_
