// Records in a balanced tree (section 3.4), by transaction and, within one, by
// id, so that a transaction's are found without looking at others'. The words
// that an operation changes change together (WordLog).
#ifndef KAMINO_LAB_REWIND_RECORD_TREE_H_
#define KAMINO_LAB_REWIND_RECORD_TREE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/pmem/region.h"
#include "lab/rewind/checked_words.h"
#include "lab/rewind/log_space.h"
#include "lab/rewind/record_index.h"
#include "lab/rewind/rewind_format.h"
#include "lab/rewind/rewind_options.h"
#include "lab/rewind/word_log.h"

namespace kamino::engine {

class RecordTree final : public RecordIndex {
 public:
  // Nodes lie in `space`; `word_log` makes the changes. `root` and `space` must
  // outlive this.
  RecordTree(const CheckedWords& words, uint64_t* root, LogSpace* space,
             std::unique_ptr<WordLog> word_log, const RewindOptions& options);

  bool Reserve(size_t records) override;
  void Unreserve(size_t records) override;
  void Append(absl::Span<Indexed> records, bool in_order) override;
  void Remove(absl::Span<const Indexed> records) override;
  absl::Status Finish() override;
  absl::StatusOr<std::vector<uint64_t>> Scan() const override;
  void Empty() override;

 private:
  using TreeNode = rewind_format::TreeNode;

  TreeNode* At(uint64_t node) const;

  // --- The tree as the change under way is to leave it.
  uint64_t Get(const uint64_t* word) const { return word_log_->Get(word); }
  void Set(uint64_t* word, uint64_t value) { word_log_->Set(word, value); }
  uint64_t HeightOf(uint64_t node) const;
  void SetHeight(uint64_t node);
  // Each returns the new root of what it is given.
  uint64_t RotateLeft(uint64_t node);
  uint64_t RotateRight(uint64_t node);
  uint64_t Balance(uint64_t node);
  uint64_t Insert(uint64_t root, uint64_t node);
  uint64_t Take(uint64_t root, const Indexed& record, uint64_t* taken);
  uint64_t TakeFirst(uint64_t root, uint64_t* taken);

  // Whether no more can be part of the change under way, which has so many.
  bool Complete(size_t records) const;
  bool IsWord(uint64_t address) const;

  const CheckedWords checked_;
  Region* const region_;
  uint64_t* const root_;
  LogSpace* const space_;
  const std::unique_ptr<WordLog> word_log_;
  const size_t most_records_;  // of a change

  std::vector<uint64_t> spares_;  // nodes
  size_t reserved_ = 0;           // of them
};

}  // namespace kamino::engine

#endif  // KAMINO_LAB_REWIND_RECORD_TREE_H_
