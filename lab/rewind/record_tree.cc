#include "lab/rewind/record_tree.h"

#include <xxhash.h>

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using rewind_format::kMostCells;
using rewind_format::kSmallLog;
using rewind_format::kUnitBytes;
using rewind_format::MostWords;

namespace {

// An operation changes no more on each level: a node that is rotated twice has
// two others' heights and links changed beside its own.
constexpr size_t kWordsOfLevel = 8;
constexpr size_t kLeastCells = 8;
// Buckets that are filled, and one of words whose removal is under way.
constexpr size_t BucketsFor(size_t words) { return words / kMostCells + 4; }

uint64_t CheckOf(const rewind_format::WordRecord& record, uint64_t offset) {
  return XXH3_64bits_withSeed(
      &record, offsetof(rewind_format::WordRecord, check), offset);
}

}  // namespace

size_t RecordTree::WordsBytes(size_t log_bytes) {
  const size_t words = MostWords(log_bytes);
  // Nodes of form simple take more than buckets.
  const size_t list =
      std::max(words + 2, BucketsFor(words) * RecordList::UnitsOf(kMostCells));
  return (words + 1 + list) * kUnitBytes;
}

RecordTree::RecordTree(const CheckedWords& words,
                       rewind_format::ListState* list, uint64_t* root,
                       LogSpace* space, uint64_t begin, uint64_t end,
                       const RewindOptions& options)
    : checked_(words),
      region_(words.region()),
      root_(root),
      space_(space),
      form_(options.form),
      group_(options.group),
      most_words_(end - begin < WordsBytes(kSmallLog) ? MostWords(0)
                                                      : MostWords(kSmallLog)),
      words_(begin),
      words_space_(begin + (most_words_ + 1) * kUnitBytes, end),
      list_(words, list, &words_space_, options.form,
            std::clamp(options.bucket, kLeastCells, kMostCells),
            options.group) {}

RecordTree::TreeNode* RecordTree::At(uint64_t node) const {
  return reinterpret_cast<TreeNode*>(checked_.At(node));
}

// --- Space.

bool RecordTree::Reserve(size_t records) {
  reserved_ += records;
  while (spares_.size() < reserved_) {
    const auto node = space_->Take(1);
    if (!node.has_value()) {
      Unreserve(records);
      return false;
    }
    spares_.push_back(*node);
  }
  return true;
}

void RecordTree::Unreserve(size_t records) {
  CHECK_GE(reserved_, records);
  reserved_ -= records;
  while (spares_.size() > reserved_) {
    space_->Give(spares_.back(), 1);
    spares_.pop_back();
  }
}

// --- The tree.

uint64_t RecordTree::Get(const uint64_t* word) const {
  const auto found = index_.find(word);
  return found == index_.end() ? checked_.Get(word)
                               : changed_[found->second].value;
}

void RecordTree::Set(uint64_t* word, uint64_t value) {
  if (Get(word) == value) return;
  const auto [found, fresh] = index_.emplace(word, changed_.size());
  if (fresh) changed_.push_back({word, 0});
  changed_[found->second].value = value;
}

uint64_t RecordTree::HeightOf(uint64_t node) const {
  return node == 0 ? 0 : Get(&At(node)->height);
}

void RecordTree::SetHeight(uint64_t node) {
  Set(&At(node)->height, 1 + std::max(HeightOf(Get(&At(node)->left)),
                                      HeightOf(Get(&At(node)->right))));
}

uint64_t RecordTree::RotateLeft(uint64_t node) {
  const uint64_t up = Get(&At(node)->right);
  Set(&At(node)->right, Get(&At(up)->left));
  Set(&At(up)->left, node);
  SetHeight(node);
  SetHeight(up);
  return up;
}

uint64_t RecordTree::RotateRight(uint64_t node) {
  const uint64_t up = Get(&At(node)->left);
  Set(&At(node)->left, Get(&At(up)->right));
  Set(&At(up)->right, node);
  SetHeight(node);
  SetHeight(up);
  return up;
}

uint64_t RecordTree::Balance(uint64_t node) {
  SetHeight(node);
  const uint64_t left = Get(&At(node)->left);
  const uint64_t right = Get(&At(node)->right);
  if (HeightOf(left) > HeightOf(right) + 1) {
    if (HeightOf(Get(&At(left)->left)) < HeightOf(Get(&At(left)->right))) {
      Set(&At(node)->left, RotateLeft(left));
    }
    return RotateRight(node);
  }
  if (HeightOf(right) > HeightOf(left) + 1) {
    if (HeightOf(Get(&At(right)->right)) < HeightOf(Get(&At(right)->left))) {
      Set(&At(node)->right, RotateRight(right));
    }
    return RotateLeft(node);
  }
  return node;
}

uint64_t RecordTree::Insert(uint64_t root, uint64_t node) {
  if (root == 0) return node;
  const bool before = std::tie(At(node)->transaction, At(node)->id) <
                      std::tie(At(root)->transaction, At(root)->id);
  uint64_t* const side = before ? &At(root)->left : &At(root)->right;
  Set(side, Insert(Get(side), node));
  return Balance(root);
}

uint64_t RecordTree::TakeFirst(uint64_t root, uint64_t* taken) {
  if (Get(&At(root)->left) == 0) {
    *taken = root;
    return Get(&At(root)->right);
  }
  Set(&At(root)->left, TakeFirst(Get(&At(root)->left), taken));
  return Balance(root);
}

uint64_t RecordTree::Take(uint64_t root, const Indexed& record,
                          uint64_t* taken) {
  CHECK_NE(root, 0u) << "a record that is not in the tree";
  const auto wanted = std::tie(record.transaction, record.id);
  const auto here = std::tie(At(root)->transaction, At(root)->id);
  if (wanted != here) {
    uint64_t* const side = wanted < here ? &At(root)->left : &At(root)->right;
    Set(side, Take(Get(side), record, taken));
    return Balance(root);
  }
  *taken = root;
  const uint64_t left = Get(&At(root)->left);
  const uint64_t right = Get(&At(root)->right);
  if (right == 0) return left;
  uint64_t first = 0;
  const uint64_t rest = TakeFirst(right, &first);
  Set(&At(first)->right, rest);
  Set(&At(first)->left, left);
  return Balance(first);
}

// --- Changes.

void RecordTree::AppendWords(absl::Span<Indexed> words) {
  if (form_ == LogForm::kBatch) {
    list_.Append(words, /*in_order=*/false);
    return;
  }
  for (Indexed& word : words) list_.Append({&word, 1}, /*in_order=*/true);
}

void RecordTree::LogWord(WordKind kind, uint64_t address, uint64_t old_value) {
  const uint64_t offset = words_ + logged_.size() * kUnitBytes;
  auto* const record = reinterpret_cast<WordRecord*>(checked_.At(offset));
  *record = WordRecord{static_cast<uint64_t>(kind), address, old_value, 0, {}};
  record->check = CheckOf(*record, offset);
  region_->Flush(record, sizeof(*record));
  logged_.push_back({offset, 0, 0, 0});
}

void RecordTree::Change() {
  if (changed_.empty()) return;
  CHECK_LE(changed_.size(), most_words_) << "the log's tree is too high";
  logged_.clear();
  for (const Word& word : changed_) {
    LogWord(WordKind::kWord, checked_.OffsetOf(word.word), *word.word);
  }
  CHECK(list_.Reserve(logged_.size() + 1)) << "no space for the tree's words";
  AppendWords(absl::MakeSpan(logged_));
  for (const Word& word : changed_) {
    checked_.Store(word.word, word.value);
    checked_.Flush(word.word);
  }
  region_->Drain();
  LogWord(WordKind::kEnd, 0, 0);
  AppendWords(absl::MakeSpan(&logged_.back(), 1));
  const Indexed end = logged_.back();
  logged_.pop_back();
  list_.Remove(logged_);
  list_.Remove({&end, 1});
  changed_.clear();
  index_.clear();
}

bool RecordTree::Complete(size_t records) const {
  const size_t next = kWordsOfLevel * (HeightOf(Get(root_)) + 1);
  return form_ != LogForm::kBatch || records == group_ ||
         changed_.size() + next > most_words_;
}

void RecordTree::Append(absl::Span<Indexed> records, bool) {
  CHECK_GE(reserved_, records.size());
  size_t in_change = 0;
  for (Indexed& record : records) {
    record.place = spares_.back();
    spares_.pop_back();
    --reserved_;
    TreeNode* const node = At(record.place);
    *node = TreeNode{0, 0, 0, record.transaction, record.id, 0, {}};
    checked_.Store(&node->left, 0);
    checked_.Store(&node->right, 0);
    checked_.Store(&node->height, 1);
    checked_.Store(&node->record, record.record);
    region_->Flush(node, sizeof(*node));
    Set(root_, Insert(Get(root_), record.place));
    if (!Complete(++in_change)) continue;
    Change();
    in_change = 0;
  }
  Change();
}

void RecordTree::Remove(absl::Span<const Indexed> records) {
  std::vector<uint64_t> nodes;
  const auto finish = [&] {
    Change();
    for (uint64_t node : nodes) space_->Give(node, 1);
    nodes.clear();
  };
  for (const Indexed& record : records) {
    nodes.push_back(0);
    Set(root_, Take(Get(root_), record, &nodes.back()));
    if (Complete(nodes.size())) finish();
  }
  finish();
}

// --- Recovery.

bool RecordTree::IsWord(uint64_t address) const {
  return address == checked_.OffsetOf(root_) ||
         (address % sizeof(uint64_t) == 0 &&
          space_->Contains(address / kUnitBytes * kUnitBytes, kUnitBytes));
}

absl::Status RecordTree::Finish() {
  RETURN_IF_ERROR(list_.Finish());
  ASSIGN_OR_RETURN(const auto offsets, list_.Scan());
  std::vector<const WordRecord*> words;
  bool complete = false;
  for (const uint64_t offset : offsets) {
    const bool within = offset % kUnitBytes == 0 && offset >= words_ &&
                        offset <= words_ + most_words_ * kUnitBytes;
    const auto* record =
        reinterpret_cast<const WordRecord*>(checked_.At(offset));
    if (!within || record->check != CheckOf(*record, offset)) {
      return absl::DataLossError(absl::StrCat(
          "the log is damaged: no word of its tree is at offset ", offset));
    }
    if (record->kind == static_cast<uint64_t>(WordKind::kEnd)) {
      complete = true;
    } else if (!IsWord(record->address)) {
      return absl::DataLossError(
          absl::StrCat("the log is damaged: its tree has no word at offset ",
                       record->address));
    } else {
      words.push_back(record);
    }
  }
  if (!complete) {
    for (const WordRecord* record : words) {
      Reached(LabBranch::kRewindWordsPutBack);
      uint64_t* const word = checked_.WordAt(record->address);
      __atomic_store_n(word, record->old_value, __ATOMIC_RELAXED);
      checked_.Flush(word);
    }
    region_->Drain();
  }
  list_.Empty();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<uint64_t>> RecordTree::Scan() const {
  std::vector<uint64_t> records;
  std::vector<const uint64_t*> left = {root_};
  while (!left.empty()) {
    ASSIGN_OR_RETURN(const uint64_t node, checked_.Read(left.back()));
    left.pop_back();
    if (node == 0) continue;
    if (!space_->Contains(node, sizeof(TreeNode)) ||
        records.size() >= space_->size()) {
      return absl::DataLossError(absl::StrCat(
          "the log is damaged: its tree has no node at offset ", node));
    }
    ASSIGN_OR_RETURN(const uint64_t record, checked_.Read(&At(node)->record));
    records.push_back(record);
    left.push_back(&At(node)->left);
    left.push_back(&At(node)->right);
  }
  return records;
}

void RecordTree::Empty() { checked_.Persist(root_, 0); }

}  // namespace kamino::engine
