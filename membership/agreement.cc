#include "membership/agreement.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace kamino::membership {
namespace {

absl::string_view ValueOf(const Agreement& agreement, const std::string& name) {
  const auto found = agreement.find(name);
  if (found == agreement.end()) return "missing";
  return found->second;
}

}  // namespace

size_t AgreementBytes(const Agreement& agreement) {
  size_t bytes = 0;
  for (const auto& [name, value] : agreement) {
    bytes += name.size() + value.size();
  }
  return bytes;
}

std::string Misfit(const Agreement& a, absl::string_view a_node,
                   const Agreement& b, absl::string_view b_node) {
  for (const Agreement* each : {&a, &b}) {
    for (const auto& [name, value] : *each) {
      const absl::string_view here = ValueOf(a, name);
      const absl::string_view there = ValueOf(b, name);
      if (here == there) continue;
      // Perhaps a stranger's.
      return absl::StrCat(absl::CHexEscape(name), " is ",
                          absl::CHexEscape(here), " at ", a_node, ", but ",
                          absl::CHexEscape(there), " at ", b_node);
    }
  }
  return "";
}

}  // namespace kamino::membership
