#include "transport/make_transport.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/verbs/choose_port.h"
#include "transport/verbs/ibverbs_device.h"
#include "transport/verbs/verbs_transport.h"

namespace kamino::transport {
namespace {

// Room for a frame's or a record's own header beside the largest message.
constexpr size_t kFramingSlack = 64;
// Lengths travel as 32 bits; a limit this far below leaves sums of a few of
// them representable.
constexpr size_t kLargestMaxMessage = size_t{1} << 30;
// What the kernel's keep-alive settings can express, with room to spare.
constexpr absl::Duration kLongestTimeout = absl::Hours(24);

absl::Status Validate(const TransportOptions& options) {
  if (options.max_message == 0 || options.max_message > kLargestMaxMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_message is ", options.max_message,
                     " bytes, not within 1 and ", kLargestMaxMessage));
  }
  const size_t least = options.max_message + kFramingSlack;
  if (options.send_buffer < least || options.ring_bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("send_buffer (", options.send_buffer, ") and ring_bytes (",
                     options.ring_bytes, ") must hold a largest message, ",
                     least, " bytes"));
  }
  if (options.ring_bytes > 2 * kLargestMaxMessage) {
    return absl::InvalidArgumentError(
        absl::StrCat("ring_bytes is ", options.ring_bytes, ", over ",
                     2 * kLargestMaxMessage));
  }
  if (options.peer_timeout < absl::Seconds(1) ||
      options.peer_timeout > kLongestTimeout ||
      options.connect_timeout <= absl::ZeroDuration() ||
      options.connect_timeout > kLongestTimeout ||
      options.spin < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "peer_timeout must be at least 1 s, connect_timeout positive, both at "
        "most ",
        absl::FormatDuration(kLongestTimeout), ", and spin not negative"));
  }
  if (options.max_accepted < 1) {
    return absl::InvalidArgumentError("max_accepted must be at least 1");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transport>> MakeTransport(
    absl::string_view name, const TransportOptions& options) {
  RETURN_IF_ERROR(Validate(options));
  if (name == "tcp") return MakeTcpTransport(options);
  if (name == "shm") return MakeShmTransport(options);
  if (name == "verbs") return MakeVerbsTransport(options, SystemVerbs());
  return absl::InvalidArgumentError(absl::StrCat(
      "no transport is called \"", name, "\"; try tcp, shm or verbs"));
}

absl::StatusOr<std::string> FindVerbsPort(const VerbsOptions& wish) {
  ASSIGN_OR_RETURN(auto port, OpenPort(SystemVerbs().get(), wish));
  return Describe(port.choice);
}

}  // namespace kamino::transport
