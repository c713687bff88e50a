#include "tests/fuzz/targets.h"

namespace kamino::fuzz {

std::vector<Target> AllTargets() {
  return {ChainTarget(), LinkTarget(), ManagerTarget(), SnapshotTarget()};
}

}  // namespace kamino::fuzz
