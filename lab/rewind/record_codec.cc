#include "lab/rewind/record_codec.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "engine/baselines/log_seed.h"

namespace kamino::engine {

using rewind_format::Compensation;
using rewind_format::End;
using rewind_format::kHasNew;
using rewind_format::kHasOld;
using rewind_format::kUnitBytes;
using rewind_format::RecordType;

namespace {

absl::Status Damaged(uint64_t offset) {
  return absl::DataLossError(absl::StrCat(
      "the log is damaged: no record of it is at offset ", offset));
}

uint8_t FlagsOf(const Draft& draft) {
  return static_cast<uint8_t>((draft.old_bytes != nullptr ? kHasOld : 0) |
                              (draft.new_bytes != nullptr ? kHasNew : 0));
}

size_t CopiesOf(uint8_t flags) {
  return ((flags & kHasOld) != 0 ? 1 : 0) + ((flags & kHasNew) != 0 ? 1 : 0);
}

size_t DataBytesOf(const rewind_format::RecordHeader& header) {
  switch (static_cast<RecordType>(header.type)) {
    case RecordType::kUpdate:
    case RecordType::kDelete:
      return CopiesOf(header.flags) * header.length;
    case RecordType::kCompensation:
      return sizeof(Compensation);
    case RecordType::kEnd:
      return sizeof(End);
    case RecordType::kCheckpoint:
      break;
  }
  return 0;
}

}  // namespace

RecordCodec::RecordCodec(const Heap& heap)
    : region_(heap.region()),
      seed_(LogSeed(heap.uuid())),
      log_begin_(heap.log_area().data() - heap.region()->base()),
      objects_begin_(heap.objects_begin()) {}

size_t RecordCodec::BytesOf(const Draft& draft) {
  return sizeof(RecordHeader) + CopiesOf(FlagsOf(draft)) * draft.length;
}

uint64_t RecordCodec::CheckOf(const RecordHeader& header, uint64_t offset,
                              absl::Span<const std::byte> data) const {
  uint64_t seed = seed_ ^ offset;
  if (!data.empty()) seed ^= XXH3_64bits(data.data(), data.size());
  return XXH3_64bits_withSeed(&header, offsetof(RecordHeader, check), seed);
}

// --- Writing.

void RecordCodec::WriteHeader(RecordHeader header, uint64_t offset,
                              size_t data_bytes) const {
  std::byte* const to = At(offset);
  header.check = CheckOf(header, offset, {to + sizeof(header), data_bytes});
  std::memcpy(to, &header, sizeof(header));
  region_->Flush(to, sizeof(header) + data_bytes);
}

void RecordCodec::Write(const Draft& draft, LogRecord* record) const {
  record->type = draft.type;
  record->address = draft.address;
  record->length = draft.length;
  RecordHeader header{};
  header.id = record->indexed.id;
  header.transaction = record->indexed.transaction;
  header.address = draft.address;
  header.length = draft.length;
  header.type = static_cast<uint8_t>(draft.type);
  header.flags = FlagsOf(draft);
  std::byte* const data = At(record->indexed.record) + sizeof(header);
  std::byte* to = data;
  for (const std::byte* bytes : {draft.old_bytes, draft.new_bytes}) {
    if (bytes == nullptr) continue;
    std::memcpy(to, bytes, draft.length);
    to += draft.length;
  }
  if (draft.old_bytes != nullptr) record->old_bytes = data;
  WriteHeader(header, record->indexed.record, to - data);
}

void RecordCodec::WriteSmall(const LogRecord& record, uint8_t flags,
                             absl::Span<const std::byte> data) const {
  const uint64_t offset = record.indexed.record;
  RecordHeader header{};
  header.id = record.indexed.id;
  header.transaction = record.indexed.transaction;
  header.type = static_cast<uint8_t>(record.type);
  header.flags = flags;
  if (!data.empty()) {
    std::memcpy(At(offset) + sizeof(header), data.data(), data.size());
  }
  WriteHeader(header, offset, data.size());
}

// --- Reading.

absl::StatusOr<FoundRecord> RecordCodec::Read(uint64_t offset) const {
  const uint64_t end = region_->size();
  // Those that lie in the heap are behind the log.
  if (offset % kUnitBytes != 0 || offset < log_begin_ ||
      offset > end - sizeof(RecordHeader)) {
    return Damaged(offset);
  }
  FoundRecord found;
  found.offset = offset;
  found.header = &HeaderAt(offset);
  const std::byte* data = At(offset) + sizeof(RecordHeader);
  // Bounds what the check covers before the check is computed.
  if (found.header->length > kMostLength) return Damaged(offset);
  const size_t data_bytes = DataBytesOf(*found.header);
  if (data_bytes > end - offset - sizeof(RecordHeader) ||
      found.header->check !=
          CheckOf(*found.header, offset, {data, data_bytes})) {
    return Damaged(offset);
  }
  switch (static_cast<RecordType>(found.header->type)) {
    case RecordType::kUpdate:
    case RecordType::kDelete:
      if (found.header->address < objects_begin_ ||
          found.header->address > end ||
          found.header->length > end - found.header->address) {
        return absl::DataLossError(
            absl::StrCat("the log is damaged: its record at offset ", offset,
                         " is of ", found.header->length, " bytes at ",
                         found.header->address, ", outside of the objects"));
      }
      break;
    case RecordType::kCompensation:
    case RecordType::kEnd:
    case RecordType::kCheckpoint:
      break;
    default:
      return Damaged(offset);
  }
  if (found.header->type == static_cast<uint8_t>(RecordType::kCompensation)) {
    std::memcpy(&found.compensation, data, sizeof(found.compensation));
  } else if (found.header->type == static_cast<uint8_t>(RecordType::kEnd)) {
    std::memcpy(&found.sequence, data, sizeof(found.sequence));
  } else {
    const bool has_old = (found.header->flags & kHasOld) != 0;
    if (has_old) found.old_bytes = data;
    if ((found.header->flags & kHasNew) != 0) {
      found.new_bytes = data + (has_old ? found.header->length : 0);
    }
  }
  return found;
}

}  // namespace kamino::engine
