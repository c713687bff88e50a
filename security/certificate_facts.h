// The contents of any certificate, for display and for renewals.
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
  std::string name;                // the common name; "": none
  std::optional<Identity> holder;  // nothing: none, or several
  std::vector<std::string> hosts;  // names and addresses
  std::string issuer;              // the common name
  std::string serial;
  std::string fingerprint;  // SHA-256, bytes
  absl::Time not_before;
  absl::Time not_after;
  bool is_authority = false;
  bool serves = false;  // allows serving
  bool calls = false;   // allows calling
};

CertificateFacts FactsOf(const X509& certificate);

// Infinite past: unreadable.
absl::Time ToTime(const ASN1_TIME* time);
// Hexadecimal, in openssl's format.
std::string SerialOf(const X509& certificate);
// SHA-256 of the certificate, as bytes.
std::string FingerprintOf(const X509& certificate);

// Whether the certificate covers the host name or the address `host`.
bool IsOfHost(const X509& certificate, const std::string& host);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATE_FACTS_H_
