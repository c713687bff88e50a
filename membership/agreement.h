// What the nodes of one chain must be able to work with alike, besides heaps of
// one size: the sizes, formats and procedures without which one could not take
// what another sends. Each node says from what to what it goes, so that nodes
// of two releases can be in one chain; what it works with is in force
// (View::in_force), and rises when an operator finalizes a release. Here they
// are names and numbers to compare; who makes them knows what they mean
// (node/driver/node_agreement.h).
#ifndef KAMINO_MEMBERSHIP_AGREEMENT_H_
#define KAMINO_MEMBERSHIP_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kamino::membership {

// Both ends included; low <= high. 0 stands for going without: what a node does
// not name is 0 to 0 there, what it can go without begins at 0.
struct Range {
  uint64_t low = 0;
  uint64_t high = 0;

  bool Has(uint64_t value) const { return low <= value && value <= high; }
  friend bool operator==(const Range&, const Range&) = default;
};

// What a node can work with, by name.
using Agreement = std::map<std::string, Range>;
// What a chain works with, by name: of each thing that a member names, what all
// members can. 0: it is not used, as not all members have it, or nobody has
// switched it on yet.
using InForce = std::map<std::string, uint64_t>;

// The chain's mode (base/chain_mode.h), as its number: kamino, 0, is what a
// node has that names none.
inline constexpr absl::string_view kChainModeTerm = "chain mode (--chain_mode)";

// Where all nodes take back by themselves: the kind of their undo copies
// (base/undo_copy_kind.h), as its number.
inline constexpr absl::string_view kUndoCopyTerm = "undo copy (--undo_copy)";

// As many as may be said. A view's record holds them for each member.
inline constexpr size_t kMaxAgreementBytes = 16u << 10;

// What is wrong with it by itself, if it is a stranger's; empty: nothing.
std::string Malformed(const Agreement& agreement);

// Of names and numbers.
size_t AgreementBytes(const Agreement& agreement);

// The first thing for which `a`, of node `a_node`, and `b` have nothing in
// common, as "ring_mb is 16 at n2, but 64 at n1"; empty when there is none.
// Nodes of which any two have something in common have it all together.
std::string Misfit(const Agreement& a, absl::string_view a_node,
                   const Agreement& b, absl::string_view b_node);

// The same for what is in force in a chain, which does not change for a node
// that comes later.
std::string Misfit(const Agreement& agreement, absl::string_view node,
                   const InForce& in_force);

// The highest that nodes can of which any two fit.
InForce HighestOf(const std::vector<const Agreement*>& agreements);

// What is in force among them when `before` was: that, wherever all of them can
// work so, so that those of an older release may come back; else the nearest
// that they can. The highest where nothing was in force.
InForce KeptOf(const InForce& before,
               const std::vector<const Agreement*>& agreements);

// As a message's map of names to messages with `low` and `high`:
// NodeInstance.agreement_ranges and Hello.agreement_ranges.
template <typename MessageMap>
void ToMessage(const Agreement& agreement, MessageMap* message) {
  for (const auto& [name, range] : agreement) {
    (*message)[name].set_low(range.low);
    (*message)[name].set_high(range.high);
  }
}
template <typename MessageMap>
Agreement AgreementFrom(const MessageMap& message) {
  Agreement agreement;
  for (const auto& [name, range] : message) {
    agreement[name] = {range.low(), range.high()};
  }
  return agreement;
}

}  // namespace kamino::membership

#endif  // KAMINO_MEMBERSHIP_AGREEMENT_H_
