// The largest CommitOptions::sequence of transactions whose ends have left the
// log. It has 64 bits, more than a checked word holds, so it takes two words.
#ifndef KAMINO_LAB_REWIND_SEQUENCE_MARK_H_
#define KAMINO_LAB_REWIND_SEQUENCE_MARK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "lab/rewind/checked_words.h"

namespace kamino::engine {

// Not thread-safe.
class SequenceMark {
 public:
  // `high`: bits 63..48; null: of plain words, `low` has all.
  SequenceMark(const CheckedWords& words, uint64_t* low, uint64_t* high)
      : words_(words), low_(low), high_(high) {}

  // Recovery. kDataLoss: damaged.
  absl::StatusOr<uint64_t> Read() const;
  // This process must have stored the mark, or read it.
  uint64_t Get() const;
  // Flushed, not drained. Until then a crash leaves the old one, this one, or,
  // where bits 63..48 change, some other that is no larger than this one. So
  // the caller keeps the end that says `sequence`, which is no smaller than the
  // old one, in the log until it has drained.
  void Store(uint64_t sequence) const;

 private:
  const CheckedWords words_;
  uint64_t* const low_;
  uint64_t* const high_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_SEQUENCE_MARK_H_
