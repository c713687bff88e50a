// The modes of a chain: how its nodes make a transaction survive a crash.
#ifndef KAMINO_BASE_CHAIN_MODE_H_
#define KAMINO_BASE_CHAIN_MODE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace kamino {

// Numbers are on media and on the wire; never change them.
enum class ChainMode : uint32_t {
  // Kamino-Tx-Chain (section 5): f + 2 nodes write in place; only the head
  // keeps undo copies. A node repairs interrupted entries from a neighbour's
  // data.
  kKamino = 0,
  // A traditional chain (section 7): f + 1 nodes, each of which rolls
  // interrupted entries back from its own undo copies.
  kTraditional = 1,
  // f + 1 nodes write in place; only the head keeps undo copies. Log entries
  // carry after-images, with which a node rolls interrupted entries forward.
  kImages = 2,
};

inline constexpr absl::string_view kChainModeNames =
    "kamino, traditional or images";

absl::string_view ChainModeName(ChainMode mode);
std::optional<ChainMode> ChainModeFrom(absl::string_view name);
// "unknown" if no mode has that number.
absl::string_view ChainModeNameOf(uint64_t number);

// Whether a node repairs interrupted entries without another node's data. If it
// does, any single node of the chain can continue; otherwise two are needed.
inline bool RepairsAlone(ChainMode mode) { return mode != ChainMode::kKamino; }

// Whether a node rolls back the entry that its crash interrupted, and then
// executes it again, before it takes part in the chain.
inline bool RollsBackAlone(ChainMode mode) {
  return mode == ChainMode::kTraditional;
}

// Whether an entry is sent down the chain before the entries that it depends on
// have completed. Not allowed where a node repairs itself from a neighbour's
// data, because later entries have changed that data.
inline bool Pipelines(ChainMode mode) { return RepairsAlone(mode); }

// The number of nodes that survives the failure of any one.
inline uint64_t LeastNodes(ChainMode mode) {
  return RepairsAlone(mode) ? 2 : 3;
}

// Planned stops do not reduce the chain below this number: that many members
// can continue after any interruption. If nodes do not repair themselves, one
// member repairs another.
inline uint64_t LeastMembers(ChainMode mode) {
  return RepairsAlone(mode) ? 1 : 2;
}

// For operators: one line that says which failures a chain of fewer nodes does
// not survive; empty if it has enough.
std::string WhyTooShort(ChainMode mode, uint64_t nodes);

// Whether log entries carry after-images (docs/formats/log_entry.md).
inline bool CarriesImages(ChainMode mode) { return mode == ChainMode::kImages; }

}  // namespace kamino

#endif  // KAMINO_BASE_CHAIN_MODE_H_
