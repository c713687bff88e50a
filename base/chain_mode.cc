#include "base/chain_mode.h"

namespace kamino {
namespace {

constexpr ChainMode kModes[] = {ChainMode::kKamino, ChainMode::kTraditional,
                                ChainMode::kImages};

}  // namespace

absl::string_view ChainModeName(ChainMode mode) {
  switch (mode) {
    case ChainMode::kKamino:
      return "kamino";
    case ChainMode::kTraditional:
      return "traditional";
    case ChainMode::kImages:
      return "images";
  }
  return "unknown";
}

std::optional<ChainMode> ChainModeFrom(absl::string_view name) {
  for (ChainMode mode : kModes) {
    if (ChainModeName(mode) == name) return mode;
  }
  return std::nullopt;
}

absl::string_view ChainModeNameOf(uint64_t number) {
  for (ChainMode mode : kModes) {
    if (static_cast<uint64_t>(mode) == number) return ChainModeName(mode);
  }
  return "unknown";
}

}  // namespace kamino
