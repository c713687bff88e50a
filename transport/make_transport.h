// Chooses a transport at run time.
#ifndef KAMINO_TRANSPORT_MAKE_TRANSPORT_H_
#define KAMINO_TRANSPORT_MAKE_TRANSPORT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/link.h"

namespace kamino::transport {

// `name` and the addresses that go with it:
//   "tcp"  host:port, [v6 address]:port; an empty host listens on all addresses
//   "shm"  path of a Unix socket, or a name in options.shm_directory; one host
//   "verbs"  what options.verbs.rendezvous takes
//
// kInvalidArgument: unknown name, or options that contradict each other.
absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(
    absl::string_view name, const TransportOptions& options);

// Whether verbs links can be made here: what they would use, for a log line.
// kNotFound: no active port that `wish` allows; the text says what there is.
absl::StatusOr<std::string> FindVerbsPort(const VerbsOptions& wish);

}  // namespace kamino::transport

#endif  // KAMINO_TRANSPORT_MAKE_TRANSPORT_H_
