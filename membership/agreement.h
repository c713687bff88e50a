// The feature levels that the nodes of a chain must share, besides the heap
// size: sizes, formats and procedures without which a node could not use what
// another sends. Each node names the levels that it supports, so that nodes of
// two releases can be in one chain. The chain uses the levels in force
// (View::in_force), which rise when an operator finalizes a release. This file
// compares names and numbers only; node/driver/node_agreement.h knows their
// meaning.
#ifndef KAMINO_MEMBERSHIP_AGREEMENT_H_
#define KAMINO_MEMBERSHIP_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::membership {

// Inclusive bounds; low <= high. Level 0 means that a feature is not used: a
// feature that a node does not name is 0 to 0, and an optional one begins at 0.
struct Range {
  uint64_t low = 0;
  uint64_t high = 0;
  // The node's release withdraws the feature. The node still supports the
  // levels, so that it can be in a chain that uses the feature.
  bool withdrawn = false;

  bool Has(uint64_t value) const { return low <= value && value <= high; }
  friend bool operator==(const Range&, const Range&) = default;
};

// The levels that a node supports, by name.
using Agreement = std::map<std::string, Range>;
// The levels that a chain uses, by name, for each feature that a member names.
// 0: not used, because not all members support it or it was never enabled.
using InForce = std::map<std::string, uint64_t>;

// The chain's mode (base/chain_mode.h), as its number. A node that names none
// is in mode kamino, 0.
inline constexpr absl::string_view kChainModeTerm = "chain mode (--chain_mode)";

// Where all nodes roll back by themselves: the kind of their undo copies
// (base/undo_copy_kind.h), as its number.
inline constexpr absl::string_view kUndoCopyTerm = "undo copy (--undo_copy)";

// A bound, because a view's record holds the agreements of all members.
inline constexpr size_t kMaxAgreementBytes = 16u << 10;

// Why a received agreement is invalid; empty: it is valid.
std::string Malformed(const Agreement& agreement);

// Size of the names and numbers.
size_t AgreementBytes(const Agreement& agreement);

// The first feature for which `a`, of node `a_node`, and `b` have no common
// level, as "ring_mb is 16 at n2, but 64 at n1"; empty: none. If any two of
// several nodes have a common level, all of them have one.
std::string MismatchOf(const Agreement& a, absl::string_view a_node,
                       const Agreement& b, absl::string_view b_node);

// The same for the levels in force in a chain, which do not change for a node
// that comes later.
std::string MismatchOf(const Agreement& agreement, absl::string_view node,
                       const InForce& in_force);

// The levels that finalizing puts in force: the highest that all nodes support,
// or the lowest if every node that names the feature withdraws it. Any two
// nodes must fit.
InForce FinalLevelsOf(const std::vector<const Agreement*>& agreements);

// The levels in force among the nodes, where `before` was in force: the same
// levels if all nodes support them, so that nodes of an older release may
// return; otherwise the nearest that all support. If nothing was in force,
// FinalLevelsOf.
InForce KeptOf(const InForce& before,
               const std::vector<const Agreement*>& agreements);

// Converts to a message's map of names to AgreementRange messages:
// NodeInstance.agreement_ranges and Hello.agreement_ranges.
template <typename MessageMap>
void ToMessage(const Agreement& agreement, MessageMap* message) {
  for (const auto& [name, range] : agreement) {
    (*message)[name].set_low(range.low);
    (*message)[name].set_high(range.high);
    (*message)[name].set_withdrawn(range.withdrawn);
  }
}
template <typename MessageMap>
Agreement AgreementFrom(const MessageMap& message) {
  Agreement agreement;
  for (const auto& [name, range] : message) {
    agreement[name] = {range.low(), range.high(), range.withdrawn()};
  }
  return agreement;
}

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGREEMENT_H_
