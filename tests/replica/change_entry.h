// Wrong log entries with right checksums, as a malicious peer could send them.
#ifndef KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_
#define KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "replica/log/log_entry_format.h"

namespace kamino::replica {

// Leaves entries shorter than a header alone.
inline void FixChecksum(std::string* entry) {
  constexpr size_t kFrom = sizeof(uint64_t);
  if (entry->size() < sizeof(log_entry_format::EntryHeader)) return;
  const uint64_t checksum =
      XXH3_64bits(entry->data() + kFrom, entry->size() - kFrom);
  std::memcpy(entry->data(), &checksum, sizeof(checksum));
}

// Changes the header, and corrects the checksum.
inline void ChangeHeader(
    std::string* entry,
    const std::function<void(log_entry_format::EntryHeader*)>& change) {
  log_entry_format::EntryHeader header;
  if (entry->size() < sizeof(header)) return;
  std::memcpy(&header, entry->data(), sizeof(header));
  change(&header);
  std::memcpy(entry->data(), &header, sizeof(header));
  FixChecksum(entry);
}

// Corrects the length in the header.
inline void FixLength(std::string* entry) {
  ChangeHeader(entry, [entry](log_entry_format::EntryHeader* header) {
    header->length = static_cast<uint32_t>(entry->size());
  });
}

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_
