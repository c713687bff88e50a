// The TLS flags of a server: --tls_cert, --tls_key, --tls_ca, --tls_crl_dir,
// --insecure.
#ifndef KAMINO_SECURITY_TLS_FLAGS_H_
#define KAMINO_SECURITY_TLS_FLAGS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/certificates.h"
#include "security/identity.h"

namespace kamino::security {

// A flag's name, and the address in it that is listened on or called.
using Reached = std::pair<std::string, std::string>;

// kInvalidArgument: the flags contradict each other; or there are no
// certificates, an address is not on this machine, and --insecure is not given.
// Reads no files.
absl::Status CheckTlsFlags(const std::vector<Reached>& reached);

// Whether they name any file, so that everything uses TLS.
bool FlagsNameCertificates();

// The certificates that the flags name. Null: they name none, and nothing uses
// TLS. kInvalidArgument, kUnauthenticated: the files are invalid; the
// certificate is not that of `own` (whose empty name stands for any), or it
// would be refused.
absl::StatusOr<std::shared_ptr<Certificates>> CertificatesOfFlags(
    const Identity& own);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FLAGS_H_
