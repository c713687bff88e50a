// Lines of an object.
#ifndef KAMINO_LAB_ARCHAPT_LINE_RANGES_H_
#define KAMINO_LAB_ARCHAPT_LINE_RANGES_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "engine/pmem/region.h"
#include "engine/transaction.h"

namespace kamino::engine {

// [first, end).
struct LineRange {
  uint32_t first = 0;
  uint32_t end = 0;
};
// Ascending, with lines between them.
using LineRanges = absl::InlinedVector<LineRange, 2>;

// `ranges` may overlap, in any order.
LineRanges MergeRanges(LineRanges ranges);
uint64_t CountLines(const LineRanges& ranges);

// Those of `lines` that are within `some` and those that are not.
struct SplitLines {
  LineRanges within;
  LineRanges rest;
};
SplitLines Split(const LineRanges& lines, const LineRange& some);

// Flushes lines of an object whose payload has `bytes` bytes; drains nothing.
void FlushLines(Region* region, ObjectId id, uint32_t bytes,
                const LineRanges& lines);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_ARCHAPT_LINE_RANGES_H_
