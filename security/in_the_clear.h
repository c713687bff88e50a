// Limits connections without certificates to this machine, unless the operator
// sets --insecure.
#ifndef KAMINO_SECURITY_IN_THE_CLEAR_H_
#define KAMINO_SECURITY_IN_THE_CLEAR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::security {

// Whether `address`, host:port or a host, is reachable from this machine only:
// 127.*, ::1 or localhost.
bool IsLoopback(absl::string_view address);

// Whether `address` may be listened on or called without certificates.
// kInvalidArgument: it is not on this machine, and --insecure is not set.
// `what`: the source of the address, such as "--listen".
absl::Status CheckInTheClear(absl::string_view what, absl::string_view address,
                             bool insecure);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_IN_THE_CLEAR_H_
