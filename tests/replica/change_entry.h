// Log entries that are wrong, and look as if they were not: a checksum is right
// for whoever means harm.
#ifndef KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_
#define KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "replica/log_entry_format.h"

namespace kamino::replica {

// Nothing happens to what is shorter than a header.
inline void FixChecksum(std::string* entry) {
  constexpr size_t kFrom = sizeof(uint64_t);
  if (entry->size() < sizeof(log_entry_format::EntryHeader)) return;
  const uint64_t checksum =
      XXH3_64bits(entry->data() + kFrom, entry->size() - kFrom);
  std::memcpy(entry->data(), &checksum, sizeof(checksum));
}

// Changes the header, and makes the checksum right.
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

// Has it say how long it is.
inline void FixLength(std::string* entry) {
  ChangeHeader(entry, [entry](log_entry_format::EntryHeader* header) {
    header->length = static_cast<uint32_t>(entry->size());
  });
}

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_CHANGE_ENTRY_H_
