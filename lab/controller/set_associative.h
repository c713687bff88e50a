// Lines in sets of a few ways, of which the one that was used least recently
// gives way. What is kept with a line is the owner's.
#ifndef KAMINO_LAB_CONTROLLER_SET_ASSOCIATIVE_H_
#define KAMINO_LAB_CONTROLLER_SET_ASSOCIATIVE_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "lab/controller/line.h"
#include "lab/controller/machine.h"

namespace kamino::bench::controller {

// Not thread-safe, as nothing in this folder is.
template <typename Payload>
class SetAssociative {
 public:
  struct Entry {
    LineNumber line = kNoLine;
    uint64_t used = 0;  // greater: later
    Payload payload{};
  };

  explicit SetAssociative(const CacheShape& shape)
      : sets_(shape.sets),
        ways_(shape.ways),
        entries_(uint64_t{shape.sets} * shape.ways) {}

  absl::Span<Entry> SetOf(LineNumber line) {
    return absl::MakeSpan(entries_).subspan(line % sets_ * ways_, ways_);
  }

  // Null where it is not there. Use counts, or does not.
  Entry* Find(LineNumber line) {
    Entry* const entry = Peek(line);
    if (entry != nullptr) entry->used = ++uses_;
    return entry;
  }
  Entry* Peek(LineNumber line) {
    for (Entry& entry : SetOf(line)) {
      if (entry.line == line) return &entry;
    }
    return nullptr;
  }

  // An empty entry of the line's set, or the one that was used least recently;
  // the line must not be there. The caller looks at what is in it, and then
  // lets the line take it.
  Entry* Oldest(LineNumber line) {
    const absl::Span<Entry> set = SetOf(line);
    Entry* oldest = &set[0];
    for (Entry& entry : set) {
      if (entry.line == kNoLine) return &entry;
      if (entry.used < oldest->used) oldest = &entry;
    }
    return oldest;
  }
  void Take(Entry* entry, LineNumber line, const Payload& payload) {
    *entry = {line, ++uses_, payload};
  }

  absl::Span<Entry> entries() { return absl::MakeSpan(entries_); }

 private:
  const uint64_t sets_;
  const uint64_t ways_;
  uint64_t uses_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_SET_ASSOCIATIVE_H_
