// Makes certificates: of an authority, of those it knows, and lists of those
// it revokes. Keys are of P-256.
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

// Who is to have a certificate.
struct Holder {
  Identity identity;
  // Names and IP addresses of hosts, which browsers and the like want of who
  // serves them. Nothing of ours looks at them.
  std::vector<std::string> hosts;
};

// Who is to have one and is none of ours, as etcd and who calls it.
struct Outsider {
  std::string name;                // the common name
  std::vector<std::string> hosts;  // as of a Holder
  bool serves = false;             // else it only calls
};

class Authority {
 public:
  // A new one, which signs itself. `name`: how people call it.
  static absl::StatusOr<Issued> Make(absl::string_view name, Validity validity);
  // kInvalidArgument: one cannot be read, they do not fit, or the certificate
  // is not of an authority.
  static absl::StatusOr<Authority> Open(const Issued& issued);

  // With a new key. Nodes and managers may serve, the others only call.
  // kInvalidArgument: CheckIdentity, or a host that cannot be one.
  absl::StatusOr<Issued> Issue(const Holder& holder, Validity validity) const;
  absl::StatusOr<Issued> IssueTo(const Outsider& outsider,
                                 Validity validity) const;
  // A list, in PEM, of all that `list` has ("": none), and of `certificate`.
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
