#include "web/web_flags.h"

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/address.h"

ABSL_FLAG(std::string, web_listen, "",
          "host:port for metrics (/metrics) and probes (/livez, /readyz), "
          "HTTP, on an address of this machine alone. Port 0 picks one; by "
          "default there is none.");

namespace kamino::web {
namespace {

bool IsLoopback(const std::string& address) {
  return absl::StartsWith(address, "127.") ||
         absl::StartsWith(address, "localhost:") ||
         absl::StartsWith(address, "[::1]:");
}

}  // namespace

absl::StatusOr<std::string> WebListenOfFlags() {
  std::string listen = absl::GetFlag(FLAGS_web_listen);
  if (listen.empty()) return listen;
  const absl::Status address = CheckAddress(listen, /*any_port=*/true);
  if (!address.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--web_listen must be host:port; ", address.message()));
  }
  if (!IsLoopback(listen)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--web_listen must be an address of this machine alone, such as "
        "127.0.0.1:9100, not ",
        listen, ": it is in the clear"));
  }
  return listen;
}

}  // namespace kamino::web
