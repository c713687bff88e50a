// Chooses a transport at run time.
#ifndef KAMINO_TRANSPORT_MAKE_TRANSPORT_H_
#define KAMINO_TRANSPORT_MAKE_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/link.h"

namespace kamino::transport {

// `name` and the addresses that go with it:
//   "tcp"  host:port, [v6 address]:port; an empty host listens on all addresses
//   "shm"  path of a Unix socket, or a name in options.shm_directory; one host
//
// kInvalidArgument: unknown name, or options that contradict each other.
absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(
    absl::string_view name, const TransportOptions& options);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_MAKE_TRANSPORT_H_
