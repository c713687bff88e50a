// What is in the files that TLS goes by.
#ifndef KAMINO_SECURITY_TLS_TEXTS_H_
#define KAMINO_SECURITY_TLS_TEXTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/certificate.h"
#include "security/tls_files.h"
#include "security/trust.h"

namespace kamino::security {

struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string authorities;
  std::vector<Trust::Source> revoked;
  std::string unreadable;  // why not all could be read
};

bool operator==(const TlsTexts& a, const TlsTexts& b);

// Files that are not named are "". Of each at most a MiB.
TlsTexts ReadTlsFiles(const TlsFiles& files);

struct OwnPair {
  std::vector<X509Pointer> chain;  // the own one first
  KeyPointer key;
};
// Of what was read of `files`, which name both. kInvalidArgument, with the
// file's name: one of them cannot be read, or they do not go together.
absl::StatusOr<OwnPair> ParseOwnPair(const TlsFiles& files,
                                     const TlsTexts& texts);

// What is wrong with a file, behind its path.
absl::Status InFile(const std::string& path, const absl::Status& status);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_TEXTS_H_
