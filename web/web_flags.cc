#include "web/web_flags.h"

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"

ABSL_FLAG(std::string, web_listen, "",
          "host:port for metrics (/metrics) and probes (/livez, /readyz), and "
          "for a manager's live page (/): "
          "HTTPS with certificates (--tls_cert), else HTTP. Port 0 picks one; "
          "by default there is none.");

namespace kamino::web {

absl::StatusOr<std::string> WebListenOfFlags() {
  std::string listen = absl::GetFlag(FLAGS_web_listen);
  if (listen.empty()) return listen;
  const absl::Status address = CheckAddress(listen, /*any_port=*/true);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--web_listen must be host:port; ", address.message()));
  }
  return listen;
}

}  // namespace kamino::web
