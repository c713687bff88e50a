// Bytes that a transaction is to store once a group of them is logged: form
// batch, whose records share drains.
#ifndef KAMINO_LAB_REWIND_WRITE_GROUP_H_
#define KAMINO_LAB_REWIND_WRITE_GROUP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/baselines/held_objects.h"
#include "lab/rewind/in_place_writer.h"
#include "lab/rewind/log_record.h"
#include "lab/rewind/logged_ranges.h"

namespace kamino::engine {

// Not thread-safe.
class WriteGroup {
 public:
  // Both must outlive this.
  WriteGroup(HeldObjects* held, const InPlaceWriter* writer)
      : held_(held), writer_(writer) {}

  void Add(const HeldObject& object, uint32_t offset,
           absl::Span<const std::byte> bytes);
  void Clear() { writes_.clear(); }

  size_t size() const { return writes_.size(); }
  bool empty() const { return writes_.empty(); }
  bool Has(const HeldObject& object) const;

  // Adds the changes that are to be logged; they refer to this group.
  void AddUpdates(std::vector<Draft>* drafts) const;
  // They are logged: stores them all, and none is left.
  void Store(LoggedRanges* ranges);

  // The object's payload with what is to be stored, where that cannot be
  // logged now. Valid as long as this.
  absl::Span<const std::byte> Overlay(const HeldObject& object);

 private:
  struct Write {
    size_t object = 0;  // its place among those held
    uint32_t offset = 0;
    std::vector<std::byte> bytes;
  };

  HeldObjects* const held_;
  const InPlaceWriter* const writer_;
  std::vector<Write> writes_;
  std::vector<std::vector<std::byte>> overlays_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_WRITE_GROUP_H_
