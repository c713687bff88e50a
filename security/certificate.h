// A peer's certificate, with the intermediate certificates up to an authority.
#ifndef KAMINO_SECURITY_CERTIFICATE_H_
#define KAMINO_SECURITY_CERTIFICATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "openssl/types.h"
#include "security/identity.h"

namespace kamino::security {

// Returns and clears OpenSSL's last error of this thread.
std::string OpenSslError();

struct X509Deleter {
  void operator()(X509* certificate) const;
};
using X509Pointer = std::unique_ptr<X509, X509Deleter>;
struct KeyDeleter {
  void operator()(EVP_PKEY* key) const;
};
using KeyPointer = std::unique_ptr<EVP_PKEY, KeyDeleter>;

// Parses all certificates of a PEM text, in order; limited to some dozen.
// kInvalidArgument: there is none, or one cannot be read.
absl::StatusOr<std::vector<X509Pointer>> ParseCertificates(
    absl::string_view pem);
// kInvalidArgument: there is no private key, or it has a pass phrase.
absl::StatusOr<KeyPointer> ParseKey(absl::string_view pem);

// Immutable; cheap to copy.
class Certificate {
 public:
  // The first certificate of `pem` is the holder's. kInvalidArgument: as
  // ParseCertificates. kUnauthenticated: as IdentityIn.
  static absl::StatusOr<Certificate> Parse(absl::string_view pem);
  // Takes it from an established connection. kUnauthenticated: the peer has no
  // certificate.
  static absl::StatusOr<Certificate> OfPeer(const SSL& connection);
  static absl::StatusOr<Certificate> Of(std::vector<X509Pointer> chain);

  const Identity& identity() const { return facts_->identity; }
  absl::Time not_before() const { return facts_->not_before; }
  absl::Time not_after() const { return facts_->not_after; }
  // Hexadecimal, in openssl's format.
  const std::string& serial() const { return facts_->serial; }
  // SHA-256 of the certificate.
  const std::string& fingerprint() const { return facts_->fingerprint; }
  // The holder's certificate first.
  const std::vector<X509Pointer>& chain() const { return facts_->chain; }

 private:
  struct Facts {
    std::vector<X509Pointer> chain;
    Identity identity;
    absl::Time not_before;
    absl::Time not_after;
    std::string serial;
    std::string fingerprint;
  };
  explicit Certificate(std::shared_ptr<const Facts> facts)
      : facts_(std::move(facts)) {}

  std::shared_ptr<const Facts> facts_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_CERTIFICATE_H_
