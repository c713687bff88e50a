#include "proto/backup_records.h"

#include <xxhash.h>

#include <cstring>

namespace kamino {

void AppendBackupRecord(const BackupRecord& record, std::string* to) {
  const BackupRecordHeader header{static_cast<uint32_t>(record.key.size()),
                                  static_cast<uint32_t>(record.value.size()),
                                  record.version};
  to->append(reinterpret_cast<const char*>(&header), sizeof(header));
  to->append(record.key.data(), record.key.size());
  to->append(record.value.data(), record.value.size());
}

bool TakeBackupRecord(absl::string_view* from, BackupRecord* record) {
  BackupRecordHeader header;
  if (from->size() < sizeof(header)) return false;
  std::memcpy(&header, from->data(), sizeof(header));
  const absl::string_view left = from->substr(sizeof(header));
  if (header.key_bytes == 0 || header.key_bytes > kMaxRecordKeyBytes ||
      header.value_bytes > kMaxRecordValueBytes ||
      size_t{header.key_bytes} + header.value_bytes > left.size()) {
    return false;
  }
  record->key = left.substr(0, header.key_bytes);
  record->value = left.substr(header.key_bytes, header.value_bytes);
  record->version = header.version;
  *from = left.substr(header.key_bytes + header.value_bytes);
  return true;
}

ContentHash::ContentHash() : state_(XXH3_createState()) {
  XXH3_128bits_reset(state_);
}

ContentHash::~ContentHash() { XXH3_freeState(state_); }

void ContentHash::Add(absl::string_view records) {
  XXH3_128bits_update(state_, records.data(), records.size());
}

std::string ContentHash::Digest() const {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state_));
  return std::string(reinterpret_cast<const char*>(digest.digest), kBytes);
}

uint64_t BackupChecksum(absl::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace kamino
