// The contents of the TLS files.
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
  std::string unreadable;  // error of the files that could not be read
};

bool operator==(const TlsTexts& a, const TlsTexts& b);

// Files that are not named are "". At most 1 MiB each.
TlsTexts ReadTlsFiles(const TlsFiles& files);

struct OwnPair {
  std::vector<X509Pointer> chain;  // the own certificate first
  KeyPointer key;
};
// Parses the pair of `files`, which must name both. kInvalidArgument, with the
// file's name: one cannot be read, or they do not fit.
absl::StatusOr<OwnPair> ParseOwnPair(const TlsFiles& files,
                                     const TlsTexts& texts);

// Adds the file's path to an error about it.
absl::Status InFile(const std::string& path, const absl::Status& status);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_TEXTS_H_
