// What the holders of certificates may do.
//
// A role is a kind of work. An identity has the one that its certificate names,
// and may touch all keys, unless the operators' table of grants says otherwise
// for it (security/role_file.h).
#ifndef KAMINO_SECURITY_ROLES_H_
#define KAMINO_SECURITY_ROLES_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/principal.h"
#include "security/identity.h"

namespace kamino::security {

class RoleSet {
 public:
  constexpr RoleSet() = default;
  constexpr RoleSet(std::initializer_list<Role> roles) {
    for (Role role : roles) bits_ |= BitOf(role);
  }

  constexpr bool Has(Role role) const { return (bits_ & BitOf(role)) != 0; }
  constexpr bool HasAnyOf(RoleSet others) const {
    return (bits_ & others.bits_) != 0;
  }
  constexpr bool empty() const { return bits_ == 0; }
  void Add(Role role) { bits_ |= BitOf(role); }

  friend constexpr bool operator==(RoleSet, RoleSet) = default;

 private:
  static constexpr uint8_t BitOf(Role role) {
    return static_cast<uint8_t>(1u << static_cast<int>(role));
  }

  uint8_t bits_ = 0;
};

// "reader or writer"; "no role".
std::string ToString(RoleSet roles);

// What one identity may do. Immutable.
struct Grant {
  RoleSet roles;
  PrincipalPtr principal;  // its name, and which keys it may touch; never null

  friend bool operator==(const Grant& a, const Grant& b) {
    return a.roles == b.roles && a.principal->name == b.principal->name &&
           a.principal->scope == b.principal->scope;
  }
};

// One line of the table.
struct GrantRule {
  // Of identities as URIs; a * stands for any characters but a slash.
  std::string pattern;
  RoleSet roles;
  KeyScope scope = KeyScope::All();
};

// Immutable.
class RoleMap {
 public:
  // Each identity has the role that its certificate names, and all keys.
  RoleMap() = default;
  // The first rule that an identity matches is its grant. Those that match none
  // have what their certificate names, or with `only_rules` nothing.
  RoleMap(std::vector<GrantRule> rules, bool only_rules)
      : rules_(std::move(rules)), only_rules_(only_rules) {}

  Grant GrantOf(const Identity& identity) const;

 private:
  std::vector<GrantRule> rules_;
  bool only_rules_ = false;
};

// Whether a pattern of GrantRule's has the text.
bool Matches(absl::string_view pattern, absl::string_view text);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ROLES_H_
