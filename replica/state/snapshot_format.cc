#include "replica/state/snapshot_format.h"

#include <xxhash.h>

#include <cstring>

namespace kamino::replica::snapshot_format {

bool AreZeros(const std::byte* bytes, size_t length) {
  // The first byte is zero, and all bytes equal their successors.
  return length == 0 || (bytes[0] == std::byte{0} &&
                         std::memcmp(bytes, bytes + 1, length - 1) == 0);
}

uint64_t ChecksumOf(const Header& header) {
  return XXH3_64bits(&header, offsetof(Header, checksum));
}

uint64_t ChecksumOf(absl::string_view data) {
  return XXH3_64bits(data.data(), data.size());
}

uint64_t ChecksumOf(uint64_t before, const Record& record) {
  return XXH3_64bits_withSeed(&record, offsetof(Record, checksum), before);
}

}  // namespace kamino::replica::snapshot_format
