// The format of objects in a backup: records in key order, without gaps, both
// in files and in messages (docs/formats/backup_file.md). A change needs a new
// file version.
#ifndef KAMINO_PROTO_BACKUP_RECORDS_H_
#define KAMINO_PROTO_BACKUP_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

struct XXH3_state_s;

namespace kamino {

inline constexpr size_t kBackupIdBytes = 16;
// The upper bound of mutation numbers in a backup. A restored chain continues
// above them and still does not reach the numbers that managers reject
// (membership/manager/claims.h).
inline constexpr uint64_t kBackupSequenceEnd = uint64_t{1} << 55;

// Limits of a record, equal to those of an object (engine/index/key_value.h).
inline constexpr size_t kMaxRecordKeyBytes = 1024;
inline constexpr size_t kMaxRecordValueBytes = 1u << 20;

// Followed by the key, then the value; no padding.
struct BackupRecordHeader {
  uint32_t key_bytes;
  uint32_t value_bytes;
  uint64_t version;
};
static_assert(sizeof(BackupRecordHeader) == 16);

struct BackupRecord {
  absl::string_view key;
  absl::string_view value;
  uint64_t version = 0;
};

inline size_t BytesOf(const BackupRecord& record) {
  return sizeof(BackupRecordHeader) + record.key.size() + record.value.size();
}

void AppendBackupRecord(const BackupRecord& record, std::string* to);

// Removes the first record from `from`; `record` points into its bytes. False:
// the record is truncated or exceeds the limits.
bool TakeBackupRecord(absl::string_view* from, BackupRecord* record);

// XXH3-128 over the records of all objects in key order. It does not depend on
// the objects' places in a heap, nor on the sizes of the pieces passed to Add.
class ContentHash {
 public:
  static constexpr size_t kBytes = 16;

  ContentHash();
  ~ContentHash();
  ContentHash(const ContentHash&) = delete;
  ContentHash& operator=(const ContentHash&) = delete;

  void Add(absl::string_view records);
  std::string Digest() const;  // big-endian, kBytes

 private:
  XXH3_state_s* const state_;
};

// XXH3-64, for bytes at rest.
uint64_t BackupChecksum(absl::string_view bytes, uint64_t seed = 0);

}  // namespace kamino

#endif  // KAMINO_PROTO_BACKUP_RECORDS_H_
