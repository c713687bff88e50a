// --web_listen: the address of a process's metrics and probes.
#ifndef KAMINO_WEB_WEB_FLAGS_H_
#define KAMINO_WEB_WEB_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"

namespace kamino::web {

// "": none. kInvalidArgument: "--web_listen why". security::CheckTlsFlags
// decides whether it needs certificates.
absl::StatusOr<std::string> WebListenOfFlags();

}  // namespace kamino::web

#endif  // KAMINO_WEB_WEB_FLAGS_H_
