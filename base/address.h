// Addresses of flags, files, the environment and the SDK: host:port.
#ifndef KAMINO_BASE_ADDRESS_H_
#define KAMINO_BASE_ADDRESS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino {

struct HostPort {
  std::string host;  // an IPv6 address is without its brackets
  uint16_t port = 0;
};

// Accepts NAME:port, a.b.c.d:port and [IPv6]:port, also [IPv6%zone]:port, with
// a port from 0 to 65535. kInvalidArgument: any other text; the message has the
// text, what is wrong with it and, where it can be told, the address that was
// meant.
absl::StatusOr<HostPort> ParseAddress(absl::string_view address);

// As ParseAddress; port 0 is accepted with `any_port` only.
absl::Status CheckAddress(absl::string_view address, bool any_port = false);

// Splits "host:port, ..." at the commas, removes the white space beside each
// address and skips empty ones. kInvalidArgument: as CheckAddress.
absl::StatusOr<std::vector<std::string>> SplitAddresses(absl::string_view text);

// Whether `host` is every address of a machine: 0.0.0.0 or ::, in any notation.
bool IsEveryAddress(absl::string_view host);

// Whether `host` is an IPv4 or IPv6 address from which no other machine can be
// reached: 127.*, ::1, or 127.* mapped into IPv6. A name never is.
bool IsLoopbackNumber(absl::string_view host);

}  // namespace kamino

#endif  // KAMINO_BASE_ADDRESS_H_
