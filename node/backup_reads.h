// A backup's records over the objects of one moment. Pure: a reader in, bytes
// out.
#ifndef KAMINO_NODE_BACKUP_READS_H_
#define KAMINO_NODE_BACKUP_READS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "engine/index/key_value.h"

namespace kamino::node {

// One step: well below a millisecond of the core thread, also where each object
// has to come from memory.
inline constexpr size_t kBackupStepObjects = 1024;
inline constexpr size_t kBackupStepBytes = 256u << 10;

// Where a backup stands between two steps.
struct BackupCursor {
  std::string start;  // the least key that is not read yet
  uint64_t objects = 0;
  bool done = false;
};

// Appends the next step's records, and moves the cursor behind them.
absl::Status ReadBackupStep(engine::KeyValueReader& objects,
                            BackupCursor* cursor, std::string* records);

}  // namespace kamino::node

#endif  // KAMINO_NODE_BACKUP_READS_H_
