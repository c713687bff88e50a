#include "rpc/queue_pair.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"

namespace kamino::rpc {
namespace {

using transport::GidKind;
using transport::VerbsEndpoint;

constexpr size_t kMaxNameBytes = 64;
constexpr uint32_t k24Bits = 0xffffff;

kamino::v1::GidKind KindOf(GidKind kind) {
  switch (kind) {
    case GidKind::kInfiniBand:
      return kamino::v1::GID_KIND_INFINIBAND;
    case GidKind::kRoceV1:
      return kamino::v1::GID_KIND_ROCE_V1;
    case GidKind::kRoceV2:
      return kamino::v1::GID_KIND_ROCE_V2;
  }
  return kamino::v1::GID_KIND_UNSPECIFIED;
}

std::optional<GidKind> KindOf(kamino::v1::GidKind kind) {
  switch (kind) {
    case kamino::v1::GID_KIND_INFINIBAND:
      return GidKind::kInfiniBand;
    case kamino::v1::GID_KIND_ROCE_V1:
      return GidKind::kRoceV1;
    case kamino::v1::GID_KIND_ROCE_V2:
      return GidKind::kRoceV2;
    default:
      return std::nullopt;
  }
}

}  // namespace

kamino::v1::QueuePair ToProto(const VerbsEndpoint& from) {
  kamino::v1::QueuePair to;
  to.set_version(from.version);
  to.set_device(from.device.substr(0, kMaxNameBytes));
  to.set_number(from.address.number);
  to.set_packet_number(from.address.psn);
  to.set_lid(from.address.lid);
  to.set_gid(from.address.gid.data(), from.address.gid.size());
  to.set_gid_kind(KindOf(from.address.kind));
  to.set_mtu(static_cast<uint32_t>(from.address.mtu));
  to.set_window(from.window);
  to.set_buffer_bytes(from.buffer_bytes);
  to.set_max_message(from.max_message);
  return to;
}

absl::StatusOr<VerbsEndpoint> FromProto(const kamino::v1::QueuePair& from) {
  VerbsEndpoint to;
  const std::optional<GidKind> kind = KindOf(from.gid_kind());
  if (!kind.has_value() || from.device().size() > kMaxNameBytes ||
      from.number() > k24Bits || from.packet_number() > k24Bits ||
      from.lid() > 0xffff || from.gid().size() != to.address.gid.size()) {
    return absl::FailedPreconditionError(
        "the queue pair of the peer makes no sense");
  }
  to.version = from.version();
  to.device = from.device();
  to.address.number = from.number();
  to.address.psn = from.packet_number();
  to.address.lid = static_cast<uint16_t>(from.lid());
  std::copy(from.gid().begin(), from.gid().end(), to.address.gid.begin());
  to.address.kind = *kind;
  to.address.mtu = from.mtu();
  to.window = from.window();
  to.buffer_bytes = from.buffer_bytes();
  to.max_message = from.max_message();
  return to;
}

}  // namespace kamino::rpc
