// The bytes of a record of REWIND's log, which a check covers: how they are
// written, and read by recovery.
#ifndef KAMINO_LAB_REWIND_RECORD_CODEC_H_
#define KAMINO_LAB_REWIND_RECORD_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/pmem/region.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/rewind_format.h"

namespace kamino::engine {

// Immutable; thread-safe, as far as each record is one thread's.
class RecordCodec {
 public:
  // Largest number of a change's bytes in one record.
  static constexpr uint32_t kMostLength = 16u << 10;

  // `heap` must outlive this.
  explicit RecordCodec(const Heap& heap);

  // Bytes that the record of a change takes.
  static size_t BytesOf(const Draft& draft);

  // Writes the record of a change to where `record` is, which has its number
  // and its transaction's, and completes `record`. Not drained.
  void Write(const Draft& draft, LogRecord* record) const;
  // Writes another one, which has one unit: an end, a compensation, a
  // checkpoint. Not drained.
  void WriteSmall(const LogRecord& record, uint8_t flags,
                  absl::Span<const std::byte> data) const;

  // The record is one that this process has written, or read.
  const rewind_format::RecordHeader& HeaderAt(uint64_t offset) const {
    return *reinterpret_cast<const RecordHeader*>(At(offset));
  }
  // kDataLoss: there is none at that offset.
  absl::StatusOr<FoundRecord> Read(uint64_t offset) const;

 private:
  using RecordHeader = rewind_format::RecordHeader;

  std::byte* At(uint64_t offset) const { return region_->base() + offset; }
  uint64_t CheckOf(const RecordHeader& header, uint64_t offset,
                   absl::Span<const std::byte> data) const;
  // Completes a header with its check, and writes it before the data, which
  // lies there already.
  void WriteHeader(RecordHeader header, uint64_t offset,
                   size_t data_bytes) const;

  Region* const region_;
  const uint64_t seed_;
  const uint64_t log_begin_;
  const uint64_t objects_begin_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_CODEC_H_
