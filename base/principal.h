// Who asks for something, as far as those need to know who do it.
#ifndef KAMINO_BASE_PRINCIPAL_H_
#define KAMINO_BASE_PRINCIPAL_H_

#include <memory>
#include <string>

#include "base/key_scope.h"

namespace kamino {

// Immutable, and shared by all requests of one.
struct Principal {
  // The identity of the certificate that it came with; never empty.
  std::string name;
  KeyScope scope = KeyScope::All();
};

// Null: this cluster asks nobody who it is, and everybody may do everything; or
// it is the node itself that asks.
using PrincipalPtr = std::shared_ptr<const Principal>;

inline const KeyScope* ScopeOf(const PrincipalPtr& who) {
  return who == nullptr ? nullptr : &who->scope;
}

}  // namespace kamino

#endif  // KAMINO_BASE_PRINCIPAL_H_
