// The permissions of identities.
//
// A role is a kind of work. An identity has the role in its certificate, and
// access to all keys, unless the operators' file of grants says otherwise
// (security/role_file.h).
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

// The permissions of one identity. Immutable.
struct Grant {
  RoleSet roles;
  PrincipalPtr principal;  // its name and its keys; never null

  friend bool operator==(const Grant& a, const Grant& b) {
    return a.roles == b.roles && a.principal->name == b.principal->name &&
           a.principal->scope == b.principal->scope;
  }
};

// One rule of the file of grants.
struct GrantRule {
  // Matches identities as URIs; * matches any characters except slashes.
  std::string pattern;
  RoleSet roles;
  KeyScope scope = KeyScope::All();
};

// Immutable.
class RoleMap {
 public:
  // Each identity has the role in its certificate, and all keys.
  RoleMap() = default;
  // The first matching rule is an identity's grant. Without one, its
  // certificate decides or, with `only_rules`, it has no grant.
  RoleMap(std::vector<GrantRule> rules, bool only_rules)
      : rules_(std::move(rules)), only_rules_(only_rules) {}

  Grant GrantOf(const Identity& identity) const;

 private:
  std::vector<GrantRule> rules_;
  bool only_rules_ = false;
};

// Whether a pattern of a GrantRule matches the text.
bool Matches(absl::string_view pattern, absl::string_view text);

}  // namespace kamino::security

#endif  // KAMINO_SECURITY_ROLES_H_
