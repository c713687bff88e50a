#include "node/backup_reads.h"

#include "base/status_macros.h"
#include "proto/backup_records.h"

namespace kamino::node {

absl::Status ReadBackupStep(engine::KeyValueReader& objects,
                            BackupCursor* cursor, std::string* records) {
  const size_t full = records->size() + kBackupStepBytes;
  const uint64_t last = cursor->objects + kBackupStepObjects;
  bool more = false;
  RETURN_IF_ERROR(objects.Scan(
      cursor->start, "", /*limit=*/0,
      [&](absl::string_view key, const engine::KeyValueReader::Entry& entry) {
        AppendBackupRecord({key, entry.value, entry.version}, records);
        ++cursor->objects;
        more = cursor->objects == last || records->size() >= full;
        if (more) {
          cursor->start.assign(key.data(), key.size());
          cursor->start.push_back('\0');  // the least key after it
        }
        return !more;
      }));
  cursor->done = !more;
  return absl::OkStatus();
}

}  // namespace kamino::node
