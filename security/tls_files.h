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

// Where people name them, for errors to say.
enum class TlsNamedBy {
  kFlags,           // those of a program, and its configuration file
  kEnvironmentToo,  // the command line's: flags, the environment, that file
};

// kInvalidArgument: some are named, and others that go with them are not.
// Begins with the flag of one that is, and says which are missing and how each
// may be given.
absl::Status CheckComplete(const TlsFiles& files,
                           TlsNamedBy by = TlsNamedBy::kFlags);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FILES_H_
