// The flags by which a server proves who it is, and knows who others are:
// --tls_cert, --tls_key, --tls_ca, --tls_crl_dir, --insecure.
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

// kInvalidArgument: they contradict each other; or there are no certificates,
// and an address is not of this machine alone and --insecure is not given.
// Reads no files.
absl::Status CheckTlsFlags(const std::vector<Reached>& reached);

// Whether they name any file, and so nothing goes in the clear.
bool FlagsNameCertificates();

// What the flags say. Null: they name no files, and all is in the clear.
// kInvalidArgument, kUnauthenticated: what they name is not good: a certificate
// of another than `own` (whose name may be any where it is ""), or one that
// would be refused.
absl::StatusOr<std::shared_ptr<Certificates>> CertificatesOfFlags(
    const Identity& own);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FLAGS_H_
