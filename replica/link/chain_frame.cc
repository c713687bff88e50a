#include "replica/link/chain_frame.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace kamino::replica {

using kamino::internal::v1::ChainMessage;

namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are sent as they are in memory");

}  // namespace

std::string EncodeFrameHead(const ChainMessage& message) {
  const uint32_t length = static_cast<uint32_t>(message.ByteSizeLong());
  std::string head(sizeof(length) + length, '\0');
  std::memcpy(head.data(), &length, sizeof(length));
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(head.data() + sizeof(length)));
  return head;
}

absl::StatusOr<ChainFrame> DecodeFrame(absl::string_view bytes) {
  uint32_t length;
  if (bytes.size() < sizeof(length)) {
    return absl::InvalidArgumentError("a chain message is cut off");
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  bytes.remove_prefix(sizeof(length));
  if (length > bytes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a chain message of ", length, " bytes has ", bytes.size()));
  }
  ChainFrame frame;
  if (!frame.message.ParseFromArray(bytes.data(), static_cast<int>(length))) {
    return absl::InvalidArgumentError("a chain message cannot be parsed");
  }
  frame.payload = bytes.substr(length);
  if (!frame.payload.empty() && !frame.message.has_append()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a chain message that carries nothing is followed by ",
                     frame.payload.size(), " bytes"));
  }
  return frame;
}

}  // namespace kamino::replica
