#include "security/roles.h"

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace kamino::security {

std::string ToString(RoleSet roles) {
  std::vector<absl::string_view> names;
  for (Role role : kRoles) {
    if (roles.Has(role)) names.push_back(RoleName(role));
  }
  if (names.empty()) return "no role";
  const absl::string_view last = names.back();
  names.pop_back();
  if (names.empty()) return std::string(last);
  return absl::StrCat(absl::StrJoin(names, ", "), " or ", last);
}

bool Matches(absl::string_view pattern, absl::string_view text) {
  // Position of the last star, and the characters that it matches so far: on a
  // mismatch it matches one more. Earlier stars never need to.
  size_t star = absl::string_view::npos;
  size_t eaten = 0;
  size_t at = 0;
  size_t i = 0;
  while (i < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      eaten = i;
    } else if (at < pattern.size() && pattern[at] == text[i]) {
      ++at;
      ++i;
    } else if (star != absl::string_view::npos && text[eaten] != '/') {
      at = star + 1;
      i = ++eaten;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

Grant RoleMap::GrantOf(const Identity& identity) const {
  const std::string name = ToString(identity);
  const auto with = [&](RoleSet roles, const KeyScope& scope) {
    return Grant{roles,
                 std::make_shared<const Principal>(Principal{name, scope})};
  };
  for (const GrantRule& rule : rules_) {
    if (Matches(rule.pattern, name)) return with(rule.roles, rule.scope);
  }
  if (only_rules_) return with({}, KeyScope({}));
  return with({identity.role}, KeyScope::All());
}

}  // namespace kamino::security
