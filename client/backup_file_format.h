// Layout of a backup file; docs/formats/backup_file.md explains it. Numbers are
// little-endian. Backups are kept for years: a change needs a new kFileVersion,
// and the reader must support the older ones.
#ifndef KAMINO_CLIENT_BACKUP_FILE_FORMAT_H_
#define KAMINO_CLIENT_BACKUP_FILE_FORMAT_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kamino::client::backup_file_format {

static_assert(std::endian::native == std::endian::little,
              "numbers are stored as they are in memory");

inline constexpr uint64_t kMagic = 0x70756b6361426d4bull;  // "KmBackup"
inline constexpr uint32_t kFileVersion = 1;

// The same in all versions, so that a reader can tell an unknown version from
// corruption.
struct Prefix {
  uint64_t magic;
  uint32_t version;
  uint32_t reserved;  // 0
  uint64_t checksum;  // XXH3-64 of the fields above
};

enum class FrameKind : uint32_t {
  kHeader = 1,   // a kamino.v1.BackupHeader, first
  kRecords = 2,  // objects (proto/backup_records.h)
  kTrailer = 3,  // a kamino.v1.BackupTrailer, last
};

enum class Compression : uint32_t { kNone = 0, kZstd = 1 };

// Followed by `length` bytes.
struct Frame {
  uint32_t kind;           // FrameKind
  uint32_t compression;    // Compression
  uint32_t length;         // as stored
  uint32_t raw_length;     // before compression
  uint64_t data_checksum;  // XXH3-64 of these bytes, as stored
  // XXH3-64 of the fields above, seeded with the checksum of the preceding
  // frame or of the prefix.
  uint64_t checksum;
};

// Limit of a frame's data, before and after compression.
inline constexpr uint32_t kMaxFrameBytes = 8u << 20;

static_assert(sizeof(Prefix) == 24);
static_assert(offsetof(Prefix, checksum) == 16);
static_assert(std::has_unique_object_representations_v<Prefix>);
static_assert(sizeof(Frame) == 32);
static_assert(offsetof(Frame, data_checksum) == 16);
static_assert(offsetof(Frame, checksum) == 24);
static_assert(std::has_unique_object_representations_v<Frame>);

}  // namespace kamino::client::backup_file_format

#endif  // KAMINO_CLIENT_BACKUP_FILE_FORMAT_H_
