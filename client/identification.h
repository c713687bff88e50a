// The credentials of a client. Private to the library.
#ifndef KAMINO_CLIENT_IDENTIFICATION_H_
#define KAMINO_CLIENT_IDENTIFICATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"
#include "security/tls_files.h"

namespace kamino::client {

// Credentials for calls to `addresses`. Null: no TLS, because no files are
// named. kInvalidArgument: files are missing or do not fit each other; or none
// are named, an address is not on this machine, and `insecure` is not set.
// kUnauthenticated: the certificate would be refused.
absl::StatusOr<std::shared_ptr<const rpc::Credentials>> Identify(
    const security::TlsFiles& files, bool insecure,
    const std::vector<std::string>& addresses);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_IDENTIFICATION_H_
