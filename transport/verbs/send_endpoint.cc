#include "transport/verbs/send_endpoint.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"

namespace kamino::transport {
namespace {

constexpr uint32_t k24Bits = 0xffffff;
constexpr size_t kNameBytes = 24;

// On the wire; change it only with the version.
struct Encoded {
  uint32_t version;
  uint32_t number;
  uint32_t psn;
  uint16_t lid;
  uint16_t kind;
  std::array<uint8_t, 16> gid;
  uint32_t mtu;
  uint32_t window;
  uint32_t buffer_bytes;
  uint32_t zeros;
  uint64_t max_message;
  std::array<uint64_t, 2> token;
  std::array<char, kNameBytes> device;  // zeros behind it
};
static_assert(sizeof(Encoded) == 96 && offsetof(Encoded, gid) == 16 &&
              offsetof(Encoded, max_message) == 48 &&
              offsetof(Encoded, device) == 72);

}  // namespace

std::string EncodeSendEndpoint(const VerbsEndpoint& from) {
  Encoded to = {};
  to.version = from.version;
  to.number = from.address.number;
  to.psn = from.address.psn;
  to.lid = from.address.lid;
  to.kind = static_cast<uint16_t>(from.address.kind);
  to.gid = from.address.gid;
  to.mtu = static_cast<uint32_t>(from.address.mtu);
  to.window = from.window;
  to.buffer_bytes = from.buffer_bytes;
  to.max_message = from.max_message;
  to.token = from.token;
  from.device.copy(to.device.data(), kNameBytes);
  return std::string(reinterpret_cast<const char*>(&to), sizeof(to));
}

absl::StatusOr<VerbsEndpoint> DecodeSendEndpoint(absl::string_view bytes) {
  Encoded from;
  if (bytes.size() != sizeof(from)) {
    return absl::FailedPreconditionError(
        "the verbs endpoint of the peer has a wrong size");
  }
  std::memcpy(&from, bytes.data(), sizeof(from));
  if (from.number > k24Bits || from.psn > k24Bits || from.zeros != 0 ||
      from.kind > static_cast<uint16_t>(GidKind::kRoceV2)) {
    return absl::FailedPreconditionError(
        "the verbs endpoint of the peer is invalid");
  }
  VerbsEndpoint to;
  to.version = from.version;
  to.address.number = from.number;
  to.address.psn = from.psn;
  to.address.lid = from.lid;
  to.address.kind = static_cast<GidKind>(from.kind);
  to.address.gid = from.gid;
  to.address.mtu = from.mtu;
  to.window = from.window;
  to.buffer_bytes = from.buffer_bytes;
  to.max_message = from.max_message;
  to.token = from.token;
  // The name goes into log lines.
  for (const char c : from.device) {
    if (c == '\0') break;
    to.device.push_back(c > ' ' && c <= '~' ? c : '?');
  }
  return to;
}

}  // namespace kamino::transport
