// How a transaction of REWIND stores to objects in place. With force, stores
// are flushed at once and recovery never repeats them, so that their new bytes
// are not logged. Without force, checkpoints flush them.
#ifndef KAMINO_LAB_REWIND_IN_PLACE_WRITER_H_
#define KAMINO_LAB_REWIND_IN_PLACE_WRITER_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "engine/baselines/held_objects.h"
#include "engine/pmem/region.h"
#include "lab/rewind/log_record.h"

namespace kamino::engine {

// Immutable; thread-safe, as far as each object is one thread's.
class InPlaceWriter {
 public:
  // `region` must outlive this.
  InPlaceWriter(Region* region, bool force) : region_(region), force_(force) {}

  // The change of bytes that are about to be stored; null: not known yet. It
  // refers to both.
  Draft UpdateOf(const HeldObject& object, uint32_t offset, uint32_t length,
                 const std::byte* new_bytes) const;
  // Not drained.
  void Store(const HeldObject& object, uint32_t offset,
             absl::Span<const std::byte> bytes) const;
  // Stores a record's old bytes; with force, durably.
  void PutBack(const LogRecord& record) const;

 private:
  Region* const region_;
  const bool force_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_IN_PLACE_WRITER_H_
