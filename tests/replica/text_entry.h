// Log entries for tests of the protocol, each made from a text: the arguments
// of its first mutation. "a=1 b=22" stands for writes to the objects a and b
// (tests/replica/fake_heap.h); any other text touches nothing.
#ifndef KAMINO_TESTS_REPLICA_TEXT_ENTRY_H_
#define KAMINO_TESTS_REPLICA_TEXT_ENTRY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/transaction.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

// An object's id is this times the place of its letter, from 1.
inline constexpr uint64_t kObjectSpacing = 64;

// The writes that a text stands for.
std::vector<std::pair<char, std::string>> WritesOf(absl::string_view text);
engine::WriteSet WriteSetOf(absl::string_view text);

// The parts of an entry of `count` mutations.
class TextBatch {
 public:
  explicit TextBatch(absl::string_view text, uint32_t count = 1);

  const std::vector<const Mutation*>& mutations() const { return pointers_; }
  const engine::WriteSet& write_set() const { return write_set_; }
  // In chain 1.
  LogEntryDraft Draft(uint64_t first, uint64_t view_id = 0) const;

 private:
  std::vector<Mutation> mutations_;
  std::vector<const Mutation*> pointers_;
  engine::WriteSet write_set_;
};

// Its bytes.
std::string TextEntry(uint64_t first, absl::string_view text,
                      uint32_t count = 1, uint64_t view_id = 0);
// Appends it with the next number.
absl::Status AppendText(LogRing* ring, absl::string_view text,
                        uint32_t count = 1);

// The same with after-images: each object's value by the text.
absl::Status AppendTextWithImages(LogRing* ring, absl::string_view text);

std::string TextOf(const LogEntry& entry);

}  // namespace kamino::replica

#endif  // KAMINO_TESTS_REPLICA_TEXT_ENTRY_H_
