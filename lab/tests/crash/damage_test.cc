#include "tests/engine/damage/damage_suite.h"

namespace kamino::engine::damage {

std::vector<std::string> SchemesToDamage() {
  return {"wrap",
          "archapt",
          "rewind-1-noforce-simple",
          "rewind-1-noforce-batch",
          "rewind-1-force-optimized",
          "rewind-2-noforce-batch",
          "rewind-2-force-simple"};
}

}  // namespace kamino::engine::damage
