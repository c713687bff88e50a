// Makes the certificates of an authority and of its holders, and revocation
// lists. Keys are of P-256.
#ifndef KAMINO_SECURITY_AUTHORITY_H_
#define KAMINO_SECURITY_AUTHORITY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "security/certificate.h"
#include "security/identity.h"

namespace kamino::security {

struct Issued {
  std::string certificate_pem;
  std::string key_pem;
};

struct Validity {
  absl::Time from;
  absl::Time until;
};

// A future holder of a certificate.
struct Holder {
  Identity identity;
  // Names and IP addresses of hosts, which clients such as browsers require.
  // Kamino ignores them.
  std::vector<std::string> hosts;
};

// A future holder outside Kamino, such as etcd or a client of it.
struct Outsider {
  std::string name;                // the common name
  std::vector<std::string> hosts;  // as in Holder
  bool serves = false;             // otherwise it only calls
};

class Authority {
 public:
  // Makes a new self-signed authority. `name`: its name for people.
  static absl::StatusOr<Issued> Make(absl::string_view name, Validity validity);
  // kInvalidArgument: the certificate or key cannot be read, they do not fit,
  // or the certificate is not an authority's.
  static absl::StatusOr<Authority> Open(const Issued& issued);

  // Issues a certificate with a new key. Those of nodes and managers allow
  // serving; others only calling. kInvalidArgument: CheckIdentity, or an
  // invalid host.
  absl::StatusOr<Issued> Issue(const Holder& holder, Validity validity) const;
  absl::StatusOr<Issued> IssueTo(const Outsider& outsider,
                                 Validity validity) const;
  // Returns a revocation list, in PEM, with the entries of `list` ("": none)
  // and `certificate`.
  absl::StatusOr<std::string> Revoke(absl::string_view list,
                                     absl::string_view certificate_pem,
                                     absl::Time now,
                                     absl::Time next_list) const;

  bool HasSigned(X509* certificate) const;

  absl::string_view certificate_pem() const { return pem_; }
  absl::Time not_after() const { return not_after_; }

 private:
  Authority(std::string pem, X509Pointer certificate, KeyPointer key);

  absl::StatusOr<Issued> Issue(const std::string& name,
                               const std::string& alternative_names,
                               bool serves, Validity validity) const;

  std::string pem_;
  X509Pointer certificate_;
  KeyPointer key_;
  absl::Time not_after_;
};

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_AUTHORITY_H_
