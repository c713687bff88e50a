// Addresses as people write them: host:port.
#ifndef KAMINO_BASE_ADDRESS_H_
#define KAMINO_BASE_ADDRESS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kamino {

// kInvalidArgument, with the address: it is not host:port with a port from 1
// to 65535 (from 0 with `any_port`), or has a scheme such as http:// or white
// space in it.
absl::Status CheckAddress(absl::string_view address, bool any_port = false);

// Of "host:port, ...", without the white space beside each; empty ones are left
// out. kInvalidArgument: as CheckAddress.
absl::StatusOr<std::vector<std::string>> SplitAddresses(absl::string_view text);

}  // namespace kamino

#endif  // KAMINO_BASE_ADDRESS_H_
