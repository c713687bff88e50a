// The guarantees of engine/transaction.h and the index, on the laboratory's
// schemes.
#include "lab/rewind/rewind_options.h"
#include "tests/engine/baselines/fixture.h"

namespace kamino::engine {

std::vector<std::string> SchemesToTest() {
  std::vector<std::string> names = {"wrap", "archapt"};
  for (const RewindOptions& options : AllRewinds()) {
    names.push_back(options.Name());
  }
  return names;
}

}  // namespace kamino::engine
