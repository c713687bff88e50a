// What a certificate says, whoever's it is: for people, and for who makes the
// next one of the same.
#ifndef KAMINO_SECURITY_CERTIFICATE_FACTS_H_
#define KAMINO_SECURITY_CERTIFICATE_FACTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "openssl/types.h"
#include "security/identity.h"

namespace kamino::security {

struct CertificateFacts {
  std::string name;                // the common name; "": it has none
  std::optional<Identity> holder;  // nothing: it names none, or several
  std::vector<std::string> hosts;  // names and addresses
  std::string issuer;              // the common name
  std::string serial;
  std::string fingerprint;  // SHA-256, bytes
  absl::Time not_before;
  absl::Time not_after;
  bool is_authority = false;
  bool serves = false;  // it may be shown by who serves
  bool calls = false;   // and by who calls
};

CertificateFacts FactsOf(const X509& certificate);

// Infinitely long ago: it cannot be read.
absl::Time ToTime(const ASN1_TIME* time);
// Hexadecimal, as openssl prints it.
std::string SerialOf(const X509& certificate);
// SHA-256 of the whole, bytes.
std::string FingerprintOf(const X509& certificate);

// Whether it is of the host that `host` names, or of the address.
bool IsOfHost(const X509& certificate, const std::string& host);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATE_FACTS_H_
