// The engine's own schemes.
#include "tests/engine/baselines/fixture.h"

namespace kamino::engine {

std::vector<std::string> SchemesToTest() { return SchemeNames(); }

}  // namespace kamino::engine
