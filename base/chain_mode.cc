#include "base/chain_mode.h"

#include "absl/strings/str_cat.h"

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

std::string WhyTooShort(ChainMode mode, uint64_t nodes) {
  const uint64_t least = LeastNodes(mode);
  if (nodes >= least) return "";
  return absl::StrCat("in mode ", ChainModeName(mode), " a chain of ", nodes,
                      " (--chain_length) does not survive every failure of a "
                      "node; use at least ",
                      least, ": ",
                      nodes < 2 ? "no other node has a copy of the data"
                                : "after a power cut it continues only once "
                                  "all of its nodes are back");
}

}  // namespace kamino
