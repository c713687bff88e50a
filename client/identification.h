// How a client shows who it is. Private to the library.
#ifndef KAMINO_CLIENT_IDENTIFICATION_H_
#define KAMINO_CLIENT_IDENTIFICATION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/credentials.h"
#include "security/tls_files.h"

namespace kamino::client {

// To call `addresses`. Null: in the clear, for there are no files.
// kInvalidArgument: files are missing or do not fit; or there are none, and an
// address is not of this machine alone without `insecure`.
// kUnauthenticated: the certificate would be refused.
absl::StatusOr<std::shared_ptr<const rpc::Credentials>> Identify(
    const security::TlsFiles& files, bool insecure,
    const std::vector<std::string>& addresses);

}  // namespace kamino::client

#endif  // KAMINO_CLIENT_IDENTIFICATION_H_
