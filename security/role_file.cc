#include "security/role_file.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "config/nearest_name.h"
#include "config/toml_file.h"

namespace kamino::security {
namespace {

using config::BadValue;

constexpr absl::string_view kScheme = "kamino://";
constexpr size_t kMaxPrefixBytes = 1024;
constexpr size_t kMaxPatternBytes = 512;

absl::Status CheckKeys(const std::string& path, const toml::table& table,
                       const std::vector<std::string>& known) {
  for (const auto& [key, value] : table) {
    bool found = false;
    for (const std::string& each : known) found |= key.str() == each;
    if (found) continue;
    const absl::string_view name(key.str().data(), key.str().size());
    return BadValue(path, key.source(),
                    absl::StrCat("there is no key ", name,
                                 config::DidYouMean(name, known)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Texts(const std::string& path,
                                               const toml::node& node,
                                               absl::string_view key,
                                               size_t most) {
  const toml::array* const array = node.as_array();
  if (array == nullptr || array->empty() || array->size() > most) {
    return BadValue(
        path, node.source(),
        absl::StrCat(key, " is a list of 1 to ", most, " texts, as [\"...\"]"));
  }
  std::vector<std::string> texts;
  for (const toml::node& each : *array) {
    const auto text = each.value_exact<std::string>();
    if (!text.has_value()) {
      return BadValue(path, each.source(),
                      absl::StrCat("each element of ", key, " must be a text"));
    }
    texts.push_back(*text);
  }
  return texts;
}

absl::StatusOr<RoleSet> ReadRoles(const std::string& path,
                                  const toml::table& grant) {
  const toml::node* const node = grant.get("roles");
  if (node == nullptr) {
    return BadValue(path, grant.source(),
                    "a grant needs roles; [] grants none");
  }
  RoleSet roles;
  if (node->as_array() != nullptr && node->as_array()->empty()) return roles;
  ASSIGN_OR_RETURN(const auto names,
                   Texts(path, *node, "roles", std::size(kRoles)));
  for (const std::string& name : names) {
    const std::optional<Role> role = RoleNamed(name);
    if (!role.has_value()) {
      return BadValue(path, node->source(),
                      absl::StrCat("there is no role ", name,
                                   "; there are node, manager, operator, "
                                   "writer and reader"));
    }
    roles.Add(*role);
  }
  return roles;
}

absl::StatusOr<KeyScope> ReadScope(const std::string& path,
                                   const toml::table& grant, RoleSet roles) {
  const toml::node* const node = grant.get("prefixes");
  if (node == nullptr) return KeyScope::All();
  if (!roles.HasAnyOf({Role::kWriter, Role::kReader})) {
    return BadValue(path, node->source(),
                    "prefixes need the role writer or reader; other roles "
                    "access no keys");
  }
  ASSIGN_OR_RETURN(auto prefixes, Texts(path, *node, "prefixes", kMaxPrefixes));
  for (const std::string& prefix : prefixes) {
    if (!prefix.empty() && prefix.size() <= kMaxPrefixBytes) continue;
    return BadValue(path, node->source(),
                    absl::StrCat("a prefix has 1 to ", kMaxPrefixBytes,
                                 " bytes; leave prefixes out for all keys"));
  }
  return KeyScope(std::move(prefixes));
}

// Whether any identity can match the pattern. A grant that matches none would
// go unnoticed, and the intended identity would keep the role in its
// certificate.
bool MatchesSomebody(absl::string_view pattern) {
  if (!absl::ConsumePrefix(&pattern, kScheme)) return false;
  const std::vector<absl::string_view> parts = absl::StrSplit(pattern, '/');
  if (parts.size() != 3) return false;
  for (absl::string_view part : parts) {
    if (part.empty()) return false;
    for (char c : part) {
      if (!absl::ascii_isalnum(c) && !absl::StrContains("_-.*", c))
        return false;
    }
  }
  return std::any_of(std::begin(kRoles), std::end(kRoles), [&](Role role) {
    return Matches(parts[1], RoleName(role));
  });
}

absl::StatusOr<GrantRule> ReadGrant(const std::string& path,
                                    const toml::node& node) {
  const toml::table* const grant = node.as_table();
  if (grant == nullptr) {
    return BadValue(path, node.source(), "a grant is a table: [[grant]]");
  }
  RETURN_IF_ERROR(CheckKeys(path, *grant, {"identity", "roles", "prefixes"}));
  GrantRule rule;
  rule.pattern = (*grant)["identity"].value_or(std::string());
  if (!absl::StartsWith(rule.pattern, kScheme) ||
      rule.pattern.size() > kMaxPatternBytes) {
    return BadValue(path, grant->source(),
                    "a grant needs an identity, as kamino://CLUSTER/ROLE/NAME "
                    "with * for any part of a name");
  }
  if (!MatchesSomebody(rule.pattern)) {
    return BadValue(
        path, (*grant)["identity"].node()->source(),
        absl::StrCat("no identity can match ", absl::CHexEscape(rule.pattern),
                     "; it is kamino://CLUSTER/ROLE/NAME, ROLE being node, "
                     "manager, operator, writer or reader, with letters, "
                     "digits, _, - and ., and * for any part of a name"));
  }
  ASSIGN_OR_RETURN(rule.roles, ReadRoles(path, *grant));
  ASSIGN_OR_RETURN(rule.scope, ReadScope(path, *grant, rule.roles));
  return rule;
}

}  // namespace

absl::StatusOr<RoleMap> ReadRoleFile(const std::string& path) {
  ASSIGN_OR_RETURN(const toml::table file, config::ReadToml(path));
  RETURN_IF_ERROR(CheckKeys(path, file, {"others", "grant"}));
  bool only_rules = false;
  if (const toml::node* const others = file.get("others")) {
    const auto text = others->value_exact<std::string>();
    if (text != "nothing" && text != "by certificate") {
      return BadValue(path, others->source(),
                      "others is \"nothing\" or \"by certificate\"");
    }
    only_rules = text == "nothing";
  }
  std::vector<GrantRule> rules;
  const toml::node* const grants = file.get("grant");
  if (grants == nullptr) return RoleMap(std::move(rules), only_rules);
  const toml::array* const list = grants->as_array();
  if (list == nullptr || list->size() > kMaxGrants) {
    return BadValue(
        path, grants->source(),
        absl::StrCat("grants are at most ", kMaxGrants, " tables: [[grant]]"));
  }
  for (const toml::node& each : *list) {
    ASSIGN_OR_RETURN(auto rule, ReadGrant(path, each));
    rules.push_back(std::move(rule));
  }
  return RoleMap(std::move(rules), only_rules);
}

}  // namespace kamino::security
