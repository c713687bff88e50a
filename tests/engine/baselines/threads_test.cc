#include "tests/engine/baselines/threads_suite.h"

namespace kamino::engine {

std::vector<ThreadedScheme> SchemesWithThreads() {
  return {{"undo-own", ""}, {"cow", ""}};
}

}  // namespace kamino::engine
