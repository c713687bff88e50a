// What is in the files that TLS goes by.
#ifndef KAMINO_SECURITY_TLS_TEXTS_H_
#define KAMINO_SECURITY_TLS_TEXTS_H_

#include <string>
#include <vector>

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

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_TEXTS_H_
