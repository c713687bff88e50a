// Layout of a heap's log area: sticky intents, then commit records;
// docs/formats/commit_log.md explains it. Numbers here are on media: never
// change them without a new heap version.
#ifndef KAMINO_ENGINE_KAMINO_COMMIT_LOG_FORMAT_H_
#define KAMINO_ENGINE_KAMINO_COMMIT_LOG_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kamino::engine::commit_log_format {

inline constexpr size_t kLineBytes = 64;

// The log area: a line of LogHeader, the intents' table, the ring of records.
struct alignas(kLineBytes) LogHeader {
  // Records at lower positions are void. Changes by one store.
  uint64_t tail;
  // At least the largest sequence of records below the tail; durable before the
  // tail. 0: none.
  uint64_t sequence;
  uint64_t unused[6];
};

// Size of the table of ids, 8 bytes each, 0 if unused.
constexpr size_t TableBytes(size_t log_bytes) {
  constexpr size_t kMost = 512u << 10;
  return std::min(kMost, log_bytes / 8 / kLineBytes * kLineBytes);
}
constexpr size_t TableOffset() { return sizeof(LogHeader); }
constexpr size_t RingOffset(size_t log_bytes) {
  return TableOffset() + TableBytes(log_bytes);
}
constexpr size_t RingLines(size_t log_bytes) {
  return (log_bytes - RingOffset(log_bytes)) / kLineBytes;
}

// A record begins at line `position` modulo the ring's lines and never wraps.
struct RecordHeader {
  uint64_t position;  // lines since the ring was created
  uint64_t sequence;  // CommitOptions::sequence
  uint64_t data;      // checksum of the entries' ranges
  uint32_t count;     // entries that follow
  uint32_t flags;
  uint64_t check;  // XXH3-64 of the fields above and the entries
};

// The record's data was durable before the record was written.
inline constexpr uint32_t kDataFirst = 1;

struct Entry {
  uint64_t object_kind;  // ObjectId | IntentKind: ids are multiples of 64
  // kAlloc: bytes from the start that the checksum covers; the rest are zeros.
  uint32_t offset;
  uint32_t length;
};
inline constexpr uint64_t kKindMask = 63;

constexpr size_t RecordLines(size_t entries) {
  return (sizeof(RecordHeader) + entries * sizeof(Entry) + kLineBytes - 1) /
         kLineBytes;
}

static_assert(sizeof(LogHeader) == 64);
static_assert(sizeof(RecordHeader) == 40);
static_assert(offsetof(RecordHeader, check) == 32);
static_assert(sizeof(Entry) == 16);

}  // namespace kamino::engine::commit_log_format

#endif  // KAMINO_ENGINE_KAMINO_COMMIT_LOG_FORMAT_H_
