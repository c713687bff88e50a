// A backup's records of the objects at one moment. Pure: a reader in, bytes
// out.
#ifndef KAMINO_NODE_BACKUP_READS_H_
#define KAMINO_NODE_BACKUP_READS_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "engine/index/key_value.h"

namespace kamino::node {

// One step: well below a millisecond of the core thread, even if each object
// comes from memory.
inline constexpr size_t kBackupStepObjects = 1024;
inline constexpr size_t kBackupStepBytes = 256u << 10;

// The position of a backup between two steps.
struct BackupCursor {
  std::string start;  // the least key that was not read yet
  uint64_t objects = 0;
  bool done = false;
};

// Appends the next step's records, and moves the cursor past them.
absl::Status ReadBackupStep(engine::KeyValueReader& objects,
                            BackupCursor* cursor, std::string* records);

}  // namespace kamino::node

#endif  // KAMINO_NODE_BACKUP_READS_H_
