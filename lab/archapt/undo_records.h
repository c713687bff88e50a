// The records of Archapt's undo ring, in lines of the region: how one is
// written, and how one is recognized (lab/docs/archapt.md, Undo ring). Which
// lines are in use is the ring's to know (undo_ring.h).
#ifndef KAMINO_LAB_ARCHAPT_UNDO_RECORDS_H_
#define KAMINO_LAB_ARCHAPT_UNDO_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "engine/pmem/region.h"
#include "lab/archapt/archapt_format.h"

namespace kamino::engine {

// Lines are numbered for ever; a line's place is its number modulo lines().
// Thread-safe, as far as each thread has lines of its own. The region must
// outlive this.
class UndoRecords {
 public:
  using RecordHeader = archapt_format::RecordHeader;

  // The ring takes [begin, end) of the region; `begin` is a multiple of lines.
  // Not `checked`: records have no checks.
  UndoRecords(Region* region, uint64_t begin, uint64_t end, uint64_t seed,
              bool checked);

  uint64_t lines() const { return lines_; }
  bool checked() const { return checked_; }
  // Lines of a record with so much data.
  static uint64_t LinesOf(uint64_t data_bytes);

  // Stores and flushes a record from this line on. Fills in the header's
  // line, length and checks.
  void Write(uint64_t line, RecordHeader header,
             absl::Span<const std::byte> data);

  // The record that begins at this line and ends before line `end`; in `line`
  // its number, without the check. Nothing: no whole record is there.
  std::optional<RecordHeader> Read(uint64_t line, uint64_t end) const;
  // The data of the record that begins there; from both ends of the ring, if it
  // has to be.
  std::vector<std::byte> DataOf(uint64_t line, uint32_t length) const;
  // The line that some record past the ring's first round begins at; nothing:
  // there is none. Its data may be damaged.
  std::optional<uint64_t> FindPastFirstRound() const;

 private:
  std::byte* At(uint64_t line) const {
    return ring_ + line % lines_ * archapt_format::kLineBytes;
  }
  // Seed of the check of a record's first word.
  uint64_t SeedOfLine(const RecordHeader& header) const;
  uint64_t CheckOf(const RecordHeader& header,
                   absl::Span<const std::byte> data) const;

  Region* const region_;
  std::byte* const ring_;
  const uint64_t lines_;
  const uint64_t seed_;
  const bool checked_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_UNDO_RECORDS_H_
