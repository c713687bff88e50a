#include "membership/agreement.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/chain_mode.h"
#include "base/undo_copy_kind.h"

namespace kamino::membership {
namespace {

// The size of two levels. It is a constant, so that a release does not refuse
// the nodes of the one before.
constexpr size_t kLevelsBytes = 16;

Range RangeOf(const Agreement& agreement, const std::string& name) {
  const auto found = agreement.find(name);
  return found == agreement.end() ? Range{} : found->second;
}

std::string TextOf(absl::string_view name, const Range& range) {
  if (name == kChainModeTerm && range.low == range.high) {
    return std::string(ChainModeNameOf(range.low));
  }
  if (name == kUndoCopyTerm && range.low == range.high && range.low > 0) {
    return std::string(UndoCopyKindNameOf(range.low));
  }
  if (range.low != range.high) {
    return absl::StrCat(range.low, " to ", range.high);
  }
  return range.low == 0 ? "missing" : absl::StrCat(range.low);
}

bool Meet(const Range& a, const Range& b) {
  return a.low <= b.high && b.low <= a.high;
}

// For each named feature, the levels that all nodes support, and whether all
// nodes that name it withdraw it.
Agreement CommonOf(const std::vector<const Agreement*>& agreements) {
  Agreement common;
  for (const Agreement* agreement : agreements) {
    for (const auto& [name, range] : *agreement) {
      const auto [entry, added] = common.try_emplace(name, range);
      entry->second.withdrawn &= range.withdrawn;
    }
  }
  for (auto& [name, range] : common) {
    for (const Agreement* agreement : agreements) {
      const Range each = RangeOf(*agreement, name);
      range.low = std::max(range.low, each.low);
      range.high = std::min(range.high, each.high);
    }
  }
  return common;
}

}  // namespace

std::string Malformed(const Agreement& agreement) {
  if (AgreementBytes(agreement) > kMaxAgreementBytes) {
    return absl::StrCat("the feature levels and settings of a node take ",
                        AgreementBytes(agreement), " bytes; at most ",
                        kMaxAgreementBytes, ": register fewer procedures");
  }
  for (const auto& [name, range] : agreement) {
    if (range.low <= range.high) continue;
    return absl::StrCat(absl::CHexEscape(name), " ends at ", range.high,
                        ", before it begins at ", range.low);
  }
  return "";
}

size_t AgreementBytes(const Agreement& agreement) {
  size_t bytes = 0;
  for (const auto& [name, range] : agreement) {
    bytes += name.size() + kLevelsBytes;
  }
  return bytes;
}

std::string MismatchOf(const Agreement& a, absl::string_view a_node,
                       const Agreement& b, absl::string_view b_node) {
  for (const Agreement* each : {&a, &b}) {
    for (const auto& [name, range] : *each) {
      const Range here = RangeOf(a, name);
      const Range there = RangeOf(b, name);
      if (Meet(here, there)) continue;
      // Escaped, because the name may come from an unknown node.
      return absl::StrCat(absl::CHexEscape(name), " is ", TextOf(name, here),
                          " at ", a_node, ", but ", TextOf(name, there), " at ",
                          b_node);
    }
  }
  return "";
}

std::string MismatchOf(const Agreement& agreement, absl::string_view node,
                       const InForce& in_force) {
  for (const auto& [name, value] : in_force) {
    const Range here = RangeOf(agreement, name);
    if (here.Has(value)) continue;
    return absl::StrCat(absl::CHexEscape(name), " is ", TextOf(name, here),
                        " at ", node, ", but ", TextOf(name, {value, value}),
                        " in the chain");
  }
  return "";
}

InForce FinalLevelsOf(const std::vector<const Agreement*>& agreements) {
  InForce levels;
  for (const auto& [name, range] : CommonOf(agreements)) {
    // If the levels do not fit, `high` is the lowest.
    levels[name] =
        range.withdrawn ? std::min(range.low, range.high) : range.high;
  }
  return levels;
}

InForce KeptOf(const InForce& before,
               const std::vector<const Agreement*>& agreements) {
  if (before.empty()) return FinalLevelsOf(agreements);
  InForce kept;
  for (const auto& [name, range] : CommonOf(agreements)) {
    const auto found = before.find(name);
    const uint64_t value = found == before.end() ? 0 : found->second;
    // If the levels do not fit, the lowest is used, as above.
    kept[name] = std::min(std::max(value, range.low), range.high);
  }
  return kept;
}

}  // namespace kamino::membership
