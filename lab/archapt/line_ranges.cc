#include "lab/archapt/line_ranges.h"

#include <algorithm>

#include "lab/archapt/archapt_format.h"

namespace kamino::engine {

using archapt_format::kLineBytes;

LineRanges MergeRanges(LineRanges ranges) {
  if (ranges.size() < 2) return ranges;
  std::sort(
      ranges.begin(), ranges.end(),
      [](const LineRange& a, const LineRange& b) { return a.first < b.first; });
  LineRanges merged;
  for (const LineRange& range : ranges) {
    if (!merged.empty() && range.first <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

uint64_t CountLines(const LineRanges& ranges) {
  uint64_t lines = 0;
  for (const LineRange& range : ranges) lines += range.end - range.first;
  return lines;
}

SplitLines Split(const LineRanges& lines, const LineRange& some) {
  SplitLines split;
  const auto add = [](uint32_t first, uint32_t end, LineRanges* to) {
    if (first < end) to->push_back({first, end});
  };
  for (const LineRange& range : lines) {
    add(range.first, std::min(range.end, some.first), &split.rest);
    add(std::max(range.first, some.first), std::min(range.end, some.end),
        &split.within);
    add(std::max(range.first, some.end), range.end, &split.rest);
  }
  return split;
}

void FlushLines(Region* region, ObjectId id, uint32_t bytes,
                const LineRanges& lines) {
  for (const LineRange& range : lines) {
    const size_t begin = range.first * kLineBytes;
    const size_t end = std::min<size_t>(range.end * kLineBytes, bytes);
    region->Flush(region->base() + id + begin, end - begin);
  }
}

}  // namespace kamino::engine
