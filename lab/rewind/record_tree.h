// Records in a balanced tree (section 3.4), by transaction and, within one, by
// id, so that a transaction's are found without looking at others'. Every word
// that the tree changes is logged in a list beneath it, which is recovered
// first and is empty again after each operation.
//
// Invariants:
//   1. The words of one change of the tree, as they were, are durably in the
//      list before one of them is stored; the change's end is, once all are
//      stored durably. So without an end they are put back, and with one there
//      is nothing to do.
//   2. Words leave the list before the end does.
#ifndef KAMINO_LAB_REWIND_RECORD_TREE_H_
#define KAMINO_LAB_REWIND_RECORD_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/pmem/region.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/record_list.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"

namespace kamino::engine {

class RecordTree final : public RecordIndex {
 public:
  // Nodes lie in `space`; what is beneath lies in [begin, end) of the region,
  // which has WordsBytes(), and has its state in `list`. All must outlive this.
  RecordTree(const CheckedWords& words, rewind_format::ListState* list,
             uint64_t* root, LogSpace* space, uint64_t begin, uint64_t end,
             const RewindOptions& options);

  // Bytes that the list of words takes of a log of that size.
  static size_t WordsBytes(size_t log_bytes);

  bool Reserve(size_t records) override;
  void Unreserve(size_t records) override;
  void Append(absl::Span<Indexed> records, bool in_order) override;
  void Remove(absl::Span<const Indexed> records) override;
  absl::Status Finish() override;
  absl::StatusOr<std::vector<uint64_t>> Scan() const override;
  void Empty() override;

 private:
  using TreeNode = rewind_format::TreeNode;
  using WordRecord = rewind_format::WordRecord;
  using WordKind = rewind_format::WordKind;

  TreeNode* At(uint64_t node) const;

  // --- The tree as the change under way is to leave it: of words that it has
  // not stored to, as it is.
  uint64_t Get(const uint64_t* word) const;
  void Set(uint64_t* word, uint64_t value);
  uint64_t HeightOf(uint64_t node) const;
  void SetHeight(uint64_t node);
  // Each returns the new root of what it is given.
  uint64_t RotateLeft(uint64_t node);
  uint64_t RotateRight(uint64_t node);
  uint64_t Balance(uint64_t node);
  uint64_t Insert(uint64_t root, uint64_t node);
  uint64_t Take(uint64_t root, const Indexed& record, uint64_t* taken);
  uint64_t TakeFirst(uint64_t root, uint64_t* taken);

  // Whether more can be part of the change under way.
  bool Complete(size_t records) const;
  // Makes the change durable.
  void Change();
  void LogWord(WordKind kind, uint64_t address, uint64_t old_value);
  void AppendWords(absl::Span<Indexed> words);
  bool IsWord(uint64_t address) const;

  const CheckedWords checked_;
  Region* const region_;
  uint64_t* const root_;
  LogSpace* const space_;
  const LogForm form_;
  const size_t group_;
  const size_t most_words_;  // of a change
  const uint64_t words_;     // WordRecords, most_words_ + 1
  LogSpace words_space_;     // what is behind them
  RecordList list_;

  std::vector<uint64_t> spares_;  // nodes
  size_t reserved_ = 0;           // of them
  struct Word {
    uint64_t* word;
    uint64_t value;
  };
  std::vector<Word> changed_;
  absl::flat_hash_map<const uint64_t*, size_t> index_;  // of changed_
  std::vector<Indexed> logged_;
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_TREE_H_
