// Changes of several words of REWIND's log at a time, for the tree of records
// (section 3.4). A crash leaves all of a change or, once recovered, nothing of
// it. Each word, as it was, is logged in a list, which is recovered first and
// is empty again after each change.
//
// Invariants:
//   1. The words of one change, as they were, are durably in the list before
//      one of them is stored; the change's end is, once all are stored durably.
//      So without an end they are put back, and with one there is nothing to
//      do.
//   2. Words leave the list before the end does.
#ifndef KAMINO_LAB_REWIND_WORD_LOG_H_
#define KAMINO_LAB_REWIND_WORD_LOG_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/record_list.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

// Not thread-safe.
class WordLog {
 public:
  // Lies in [begin, end) of the region, which has BytesOf(), and has its
  // list's state in `list`. Both must outlive this.
  WordLog(const CheckedWords& words, rewind_format::ListState* list,
          uint64_t begin, uint64_t end, const RewindOptions& options);

  // Bytes that it takes of a log of that size.
  static size_t BytesOf(size_t log_bytes);

  // A checked word as the change under way is to leave it: one that the change
  // has not set, as it is.
  uint64_t Get(const uint64_t* word) const;
  void Set(uint64_t* word, uint64_t value);
  // Whether the change under way can set so many more words.
  bool HasRoom(size_t words) const;
  // Makes the change under way durable, and what was flushed before.
  void Commit();

  // Recovery: takes back a change that is not complete. `is_word` says whether
  // a change can be of the word at that offset. kDataLoss: damaged.
  absl::Status Recover(absl::FunctionRef<bool(uint64_t)> is_word);

 private:
  using WordRecord = rewind_format::WordRecord;
  using WordKind = rewind_format::WordKind;

  void Log(WordKind kind, uint64_t address, uint64_t old_value);
  void Append(absl::Span<Indexed> words);

  const CheckedWords checked_;
  Region* const region_;
  const LogForm form_;
  const size_t most_words_;  // of a change
  const uint64_t words_;     // WordRecords, most_words_ + 1
  LogSpace space_;           // what is behind them
  RecordList list_;

  struct Word {
    uint64_t* word;
    uint64_t value;
  };
  std::vector<Word> changed_;
  absl::flat_hash_map<const uint64_t*, size_t> index_;  // of changed_
  std::vector<Indexed> logged_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_WORD_LOG_H_
