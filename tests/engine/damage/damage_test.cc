#include "tests/engine/damage/damage_suite.h"

namespace kamino::engine::damage {

std::vector<std::string> SchemesToDamage() {
  return {"kamino-simple", "kamino-dynamic"};
}

}  // namespace kamino::engine::damage
