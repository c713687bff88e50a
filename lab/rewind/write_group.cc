#include "lab/rewind/write_group.h"

#include <algorithm>
#include <utility>

namespace kamino::engine {

void WriteGroup::Add(const HeldObject& object, uint32_t offset,
                     absl::Span<const std::byte> bytes) {
  writes_.push_back(
      {held_->IndexOf(object), offset, {bytes.begin(), bytes.end()}});
}

bool WriteGroup::Has(const HeldObject& object) const {
  const size_t index = held_->IndexOf(object);
  return std::any_of(
      writes_.begin(), writes_.end(),
      [index](const Write& write) { return write.object == index; });
}

void WriteGroup::AddUpdates(std::vector<Draft>* drafts) const {
  for (const Write& write : writes_) {
    drafts->push_back(writer_->UpdateOf(
        (*held_)[write.object], write.offset,
        static_cast<uint32_t>(write.bytes.size()), write.bytes.data()));
  }
}

// In order: they may overlap.
void WriteGroup::Store(LoggedRanges* ranges) {
  for (const Write& write : writes_) {
    writer_->Store((*held_)[write.object], write.offset, write.bytes);
    ranges->Add({write.object, write.offset,
                 static_cast<uint32_t>(write.bytes.size()), false});
  }
  writes_.clear();
}

absl::Span<const std::byte> WriteGroup::Overlay(const HeldObject& object) {
  const size_t index = held_->IndexOf(object);
  std::vector<std::byte> shown(object.bytes.begin(), object.bytes.end());
  for (const Write& write : writes_) {
    if (write.object != index) continue;
    std::copy(write.bytes.begin(), write.bytes.end(),
              shown.begin() + write.offset);
  }
  overlays_.push_back(std::move(shown));
  return overlays_.back();
}

}  // namespace kamino::engine
