#include "transport/link.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace kamino::transport {
namespace {

// Room for the header of a frame or record, in addition to the largest message.
constexpr size_t kFramingSlack = 64;
// 31 bits distinguish a position in a ring from one a ring later.
constexpr size_t kLargestRing = size_t{1} << 31;
// The largest value of the kernel's keep-alive settings, with room to spare.
constexpr absl::Duration kLongestTimeout = absl::Hours(24);

absl::Status Validate(const TransportOptions& options, size_t most) {
  if (options.max_message == 0 || options.max_message > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_message is ", options.max_message,
                     " bytes, not within 1 and ", most));
  }
  const size_t least = options.max_message + kFramingSlack;
  if (options.send_buffer < least || options.ring_bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("send_buffer (", options.send_buffer, ") and ring_bytes (",
                     options.ring_bytes, ") must hold a largest message, ",
                     least, " bytes"));
  }
  if (options.ring_bytes > kLargestRing) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ring_bytes is ", options.ring_bytes, ", over ", kLargestRing));
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
  if (options.max_half_open < 1 || options.max_half_open_of_address < 1 ||
      options.max_of_address < 0 || options.max_of_identity < 0) {
    return absl::InvalidArgumentError(
        "max_half_open and max_half_open_of_address must be at least 1, "
        "max_of_address and max_of_identity not negative");
  }
  for (const ComeRate& rate : {options.come, options.come_of_address}) {
    if (rate.per_second < 0 || (rate.per_second > 0 && rate.burst < 1)) {
      return absl::InvalidArgumentError(
          "come and come_of_address must not be negative, and their bursts at "
          "least 1");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view LinkRefusalName(LinkRefusal refusal) {
  switch (refusal) {
    case LinkRefusal::kTooMany:
      return "too_many";
    case LinkRefusal::kTooManyOfAddress:
      return "too_many_of_address";
    case LinkRefusal::kTooManyOfIdentity:
      return "too_many_of_identity";
    case LinkRefusal::kHalfOpen:
      return "half_open";
    case LinkRefusal::kTooOften:
      return "too_often";
    case LinkRefusal::kTimeout:
      return "timeout";
    case LinkRefusal::kPlaintext:
      return "plaintext";
    case LinkRefusal::kHandshake:
      return "handshake";
    case LinkRefusal::kCertificate:
      return "certificate";
    case LinkRefusal::kNotAdmitted:
      return "not_admitted";
    case LinkRefusal::kProtocol:
      return "protocol";
    case LinkRefusal::kOther:
      return "other";
  }
  return "other";
}

absl::StatusOr<std::unique_ptr<Transport>> TransportFactory::Make(
    const TransportOptions& options) const {
  RETURN_IF_ERROR(Validate(options, capabilities_.max_message));
  return make_(options);
}

}  // namespace kamino::transport
