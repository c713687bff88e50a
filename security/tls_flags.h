// The flags by which a server proves who it is, and knows who others are:
// --tls_cert, --tls_key, --tls_ca, --tls_crl_dir, --insecure.
#ifndef KAMINO_SECURITY_TLS_FLAGS_H_
#define KAMINO_SECURITY_TLS_FLAGS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "security/certificates.h"
#include "security/identity.h"

namespace kamino::security {

// What the flags say. Null: they name no files, and all is in the clear.
// kInvalidArgument: some are missing, or what they name is not good: a
// certificate of another than this holder, or one that would be refused.
absl::StatusOr<std::unique_ptr<Certificates>> CertificatesOfFlags(
    const Identity& own);

// Whether an address may be listened on or called without certificates:
// kInvalidArgument where it is not of this machine alone and nobody has said
// that it may be. `what` has it, such as "--listen".
absl::Status CheckInTheClear(absl::string_view what, absl::string_view address,
                             bool insecure);
// The same, by --insecure.
absl::Status CheckInTheClear(absl::string_view what, absl::string_view address);

// Of host:port, or a host: whether it is 127.*, ::1 or localhost.
bool IsLoopback(absl::string_view address);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_TLS_FLAGS_H_
