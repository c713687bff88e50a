#include "tests/fuzz/targets.h"

namespace kamino::fuzz {

std::vector<Target> AllTargets() {
  return {BackupTarget(),  ChainTarget(),   EntryTarget(),    LinkTarget(),
          ManagerTarget(), SessionTarget(), SnapshotTarget(), TlsTarget()};
}

}  // namespace kamino::fuzz
