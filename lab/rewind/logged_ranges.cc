#include "lab/rewind/logged_ranges.h"

#include <algorithm>

namespace kamino::engine {
namespace {

// With more open ranges, each change is taken to meet one: then it is logged by
// itself, and its cost does not grow with their number.
constexpr size_t kMostOpen = 64;

}  // namespace

void LoggedRanges::Open(LoggedRange* range) {
  if (!range->open && open_.size() <= kMostOpen) open_.push_back(*range);
  range->open = true;
}

bool LoggedRanges::MeetsOpen(const HeldObject& object, uint32_t offset,
                             size_t length) const {
  if (open_.size() > kMostOpen) return true;
  const size_t index = held_->IndexOf(object);
  return std::any_of(open_.begin(), open_.end(), [&](const LoggedRange& range) {
    return range.object == index && range.offset < offset + length &&
           offset < uint64_t{range.offset} + range.length;
  });
}

void LoggedRanges::ForEachOpen(
    absl::FunctionRef<void(const HeldObject&, const LoggedRange&)> visit)
    const {
  for (const LoggedRange& range : all_) {
    const HeldObject& object = (*held_)[range.object];
    if (range.open && !object.freed) visit(object, range);
  }
}

}  // namespace kamino::engine
