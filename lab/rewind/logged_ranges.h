// The ranges of objects whose old bytes a transaction has logged, and which of
// them are open: stored to through a pointer, or over what the log has. What an
// open range holds at the commit is to be logged, or flushed.
#ifndef KAMINO_LAB_REWIND_LOGGED_RANGES_H_
#define KAMINO_LAB_REWIND_LOGGED_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/baselines/declared_ranges.h"
#include "engine/baselines/held_objects.h"

namespace kamino::engine {

struct LoggedRange {
  size_t object = 0;  // its place among those held
  uint32_t offset = 0;
  uint32_t length = 0;
  bool open = false;
};

// Not thread-safe.
class LoggedRanges {
 public:
  // `held` must outlive this.
  explicit LoggedRanges(HeldObjects* held) : held_(held) {}

  // Covering looks at as many ranges as are declared together.
  void Expect(size_t count) { all_.Expect(count); }
  void Add(const LoggedRange& range) { all_.Add(range); }

  // A range that contains this one; null: none is known. Valid until the next
  // Add.
  LoggedRange* Covering(const HeldObject& object, uint32_t offset,
                        uint32_t length) {
    return all_.Covering(held_->IndexOf(object), offset, length);
  }
  // Opens one that is added, or is about to be.
  void Open(LoggedRange* range);
  // Whether a caller may have a pointer into this range.
  bool MeetsOpen(const HeldObject& object, uint32_t offset,
                 size_t length) const;
  // In their order; without those of freed objects.
  void ForEachOpen(
      absl::FunctionRef<void(const HeldObject&, const LoggedRange&)> visit)
      const;

 private:
  HeldObjects* const held_;
  DeclaredRanges<LoggedRange> all_;
  std::vector<LoggedRange> open_;  // of those, up to kMostOpen and one more
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_LOGGED_RANGES_H_
