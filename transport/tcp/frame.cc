#include "transport/tcp/frame.h"

#include "absl/strings/str_cat.h"
// For the streaming state on the stack.
#define XXH_STATIC_LINKING_ONLY
#include "xxhash.h"
#if defined(__x86_64__)
// Makes the functions below select code by the processor's features: twice as
// fast.
#include "xxh_x86dispatch.h"
#endif

namespace kamino::transport {
namespace {

uint64_t Checksum(absl::Span<const std::byte> first,
                  absl::Span<const std::byte> second) {
  const size_t length = first.size() + second.size();
  // The streaming form has a large state to set up; it pays off for most
  // messages in two pieces, never for one piece.
  if (second.empty()) {
    return XXH3_64bits_withSeed(first.data(), first.size(), length);
  }
  if (first.empty()) {
    return XXH3_64bits_withSeed(second.data(), second.size(), length);
  }
  XXH3_state_t state;
  // Without it, reset may take garbage on the stack for a sign that the state
  // is prepared for that seed already.
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, length);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace

FrameHead MakeFrameHead(absl::Span<const std::byte> first,
                        absl::Span<const std::byte> second) {
  return {kFrameMagic, static_cast<uint32_t>(first.size() + second.size()),
          Checksum(first, second)};
}

absl::Status CheckFrameHead(const FrameHead& head, size_t max_message) {
  if (head.magic != kFrameMagic) {
    return absl::DataLossError(
        absl::StrCat("no frame where one should begin: 0x",
                     absl::Hex(head.magic, absl::kZeroPad8)));
  }
  if (head.length > max_message) {
    return absl::DataLossError(absl::StrCat(
        "frame of ", head.length, " bytes; the limit is ", max_message));
  }
  return absl::OkStatus();
}

absl::Status CheckFrame(const FrameHead& head,
                        absl::Span<const std::byte> message) {
  if (head.checksum != Checksum(message, {})) {
    return absl::DataLossError(absl::StrCat("checksum of a frame of ",
                                            head.length, " bytes is wrong"));
  }
  return absl::OkStatus();
}

}  // namespace kamino::transport
