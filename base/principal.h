// The principal of a request, for code that only needs its name and its keys.
#ifndef KAMINO_BASE_PRINCIPAL_H_
#define KAMINO_BASE_PRINCIPAL_H_

#include <memory>
#include <string>

#include "base/key_scope.h"

namespace kamino {

// Immutable, and shared by all requests of one principal.
struct Principal {
  // The identity in its certificate; never empty.
  std::string name;
  KeyScope scope = KeyScope::All();
};

// Null: the cluster runs without certificates and permits everything, or the
// node itself makes the request.
using PrincipalPtr = std::shared_ptr<const Principal>;

inline const KeyScope* ScopeOf(const PrincipalPtr& who) {
  return who == nullptr ? nullptr : &who->scope;
}

}  // namespace kamino

#endif  // KAMINO_BASE_PRINCIPAL_H_
