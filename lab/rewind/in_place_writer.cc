#include "lab/rewind/in_place_writer.h"

#include <cstring>

namespace kamino::engine {

Draft InPlaceWriter::UpdateOf(const HeldObject& object, uint32_t offset,
                              uint32_t length,
                              const std::byte* new_bytes) const {
  Draft draft;
  draft.address = object.id + offset;
  draft.length = length;
  draft.old_bytes = object.bytes.data() + offset;
  if (!force_) draft.new_bytes = new_bytes;
  return draft;
}

void InPlaceWriter::Store(const HeldObject& object, uint32_t offset,
                          absl::Span<const std::byte> bytes) const {
  std::byte* const to = object.bytes.data() + offset;
  if (force_) {
    region_->CopyFlush(to, bytes.data(), bytes.size());
  } else {
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

void InPlaceWriter::PutBack(const LogRecord& record) const {
  std::byte* const to = region_->base() + record.address;
  if (force_) {
    region_->CopyFlush(to, record.old_bytes, record.length);
    region_->Drain();
  } else {
    std::memcpy(to, record.old_bytes, record.length);
  }
}

}  // namespace kamino::engine
