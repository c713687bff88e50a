// Objects as a backup has them: in key order, one behind the other, wherever
// they are on their way: from a node, in a file, back to a node.
// docs/formats/backup_file.md. Never change it without a new file version.
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
// Numbers of mutations that a backup may speak of are below it: a chain that
// goes on above them comes to none that managers do not believe
// (membership/claims.h).
inline constexpr uint64_t kBackupSequenceEnd = uint64_t{1} << 55;

// Of a record; what an object may have (engine/index/key_value.h).
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

// Takes the first record off `from`, whose bytes it points into. False: it is
// cut off, or longer than any record can be.
bool TakeBackupRecord(absl::string_view* from, BackupRecord* record);

// Of all objects: XXH3-128 of their records, one behind the other, in key
// order. However they lie in a heap, or are cut into pieces, it is the same.
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

// Of bytes at rest: XXH3-64.
uint64_t BackupChecksum(absl::string_view bytes, uint64_t seed = 0);

}  // namespace kamino

#endif  // KAMINO_PROTO_BACKUP_RECORDS_H_
