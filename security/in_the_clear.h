// Where one may go without certificates: to this machine alone, unless somebody
// says that everybody may come.
#ifndef KAMINO_SECURITY_IN_THE_CLEAR_H_
#define KAMINO_SECURITY_IN_THE_CLEAR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace kamino::security {

// Of host:port, or a host: whether no other machine can connect to it: 127.*,
// ::1 or localhost.
bool IsLoopback(absl::string_view address);

// Whether `address` may be listened on or called without certificates:
// kInvalidArgument where it is not of this machine alone and nobody has said
// --insecure. `what` has it, such as "--listen".
absl::Status CheckInTheClear(absl::string_view what, absl::string_view address,
                             bool insecure);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_IN_THE_CLEAR_H_
