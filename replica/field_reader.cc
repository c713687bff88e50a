#include "replica/field_reader.h"

namespace kamino::replica {
namespace {

// Proto's numbers of encodings; groups are not used.
enum WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kFixed32 = 5,
};

constexpr int kMostVarintBytes = 10;
constexpr uint64_t kMostFieldNumber = (uint64_t{1} << 29) - 1;

}  // namespace

bool FieldReader::TakeVarint(uint64_t* value) {
  *value = 0;
  for (int i = 0; i < kMostVarintBytes && !left_.empty(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(left_.front());
    left_.remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

bool FieldReader::TakeBytes(uint64_t length, absl::string_view* bytes) {
  if (length > left_.size()) return false;
  *bytes = left_.substr(0, length);
  left_.remove_prefix(length);
  return true;
}

bool FieldReader::TakeField() {
  uint64_t tag;
  if (!TakeVarint(&tag)) return false;
  if (tag >> 3 == 0 || tag >> 3 > kMostFieldNumber) return false;
  number_ = static_cast<uint32_t>(tag >> 3);
  is_bytes_ = (tag & 7) == kBytes;
  is_varint_ = (tag & 7) == kVarint;
  varint_ = 0;
  bytes_ = {};
  uint64_t length;
  absl::string_view skipped;
  switch (tag & 7) {
    case kVarint:
      return TakeVarint(&varint_);
    case kBytes:
      return TakeVarint(&length) && TakeBytes(length, &bytes_);
    case kFixed64:
      return TakeBytes(sizeof(uint64_t), &skipped);
    case kFixed32:
      return TakeBytes(sizeof(uint32_t), &skipped);
    default:
      return false;
  }
}

bool FieldReader::Next() {
  if (!ok_ || left_.empty()) return false;
  ok_ = TakeField();
  return ok_;
}

}  // namespace kamino::replica
