// How the nodes of a chain keep what a crash may cut short.
#ifndef KAMINO_BASE_CHAIN_MODE_H_
#define KAMINO_BASE_CHAIN_MODE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino {

// Numbers are on media and on the wire; never change them.
enum class ChainMode : uint32_t {
  // Kamino-Tx-Chain (section 5): f + 2 nodes, in place, no copies but a head's.
  // What is interrupted is mended by what a neighbour holds.
  kKamino = 0,
  // A traditional chain (section 7): f + 1 nodes, each with undo copies of its
  // own, by which it takes back what is interrupted.
  kTraditional = 1,
  // f + 1 nodes, in place, no copies but a head's: log entries carry what they
  // leave, by which a node brings what is interrupted to its end.
  kImages = 2,
};

inline constexpr absl::string_view kChainModeNames =
    "kamino, traditional or images";

absl::string_view ChainModeName(ChainMode mode);
std::optional<ChainMode> ChainModeFrom(absl::string_view name);
// "unknown" for a number that is no mode's.
absl::string_view ChainModeNameOf(uint64_t number);

// Whether a node mends what was interrupted by itself. Any one node of a chain
// that does can go on alone; else two are needed, one to mend the other by.
inline bool MendsAlone(ChainMode mode) { return mode != ChainMode::kKamino; }

// Whether a node takes back what it was executing when it ended, and executes
// it again: by itself, before it takes part in anything.
inline bool TakesBackAlone(ChainMode mode) {
  return mode == ChainMode::kTraditional;
}

// Whether entries that depend on others go down the chain behind them, not
// only once those are completed. They may, where nobody is mended by what a
// neighbour holds, which later entries have changed.
inline bool Pipelines(ChainMode mode) { return MendsAlone(mode); }

// As many nodes survive the failure of any one.
inline uint64_t LeastNodes(ChainMode mode) { return MendsAlone(mode) ? 2 : 3; }

// Fewer than that a chain does not come to be by members that stop in order:
// as many go on by themselves, whatever interrupts them. One is mended by
// another where nodes do not mend alone.
inline uint64_t LeastMembers(ChainMode mode) {
  return MendsAlone(mode) ? 1 : 2;
}

// For operators, a line on what a chain of fewer nodes does not survive; empty
// where it has as many.
std::string WhyTooShort(ChainMode mode, uint64_t nodes);

// Whether log entries carry what they leave (docs/formats/log_entry.md,
// after-images).
inline bool CarriesImages(ChainMode mode) { return mode == ChainMode::kImages; }

}  // namespace kamino

#endif  // KAMINO_BASE_CHAIN_MODE_H_
