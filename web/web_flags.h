// --web_listen: where a process shows its metrics and answers probes.
#ifndef KAMINO_WEB_WEB_FLAGS_H_
#define KAMINO_WEB_WEB_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"

namespace kamino::web {

// "": nowhere. kInvalidArgument: "--web_listen why". Whether it may be in the
// clear is for security::CheckTlsFlags to say.
absl::StatusOr<std::string> WebListenOfFlags();

}  // namespace kamino::web

#endif  // KAMINO_WEB_WEB_FLAGS_H_
