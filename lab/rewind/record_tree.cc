#include "lab/rewind/record_tree.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"

namespace kamino::engine {

using rewind_format::kUnitBytes;

namespace {

// An operation changes no more on each level: a node that is rotated twice has
// two others' heights and links changed beside its own.
constexpr size_t kWordsOfLevel = 8;

}  // namespace

RecordTree::RecordTree(const CheckedWords& words, uint64_t* root,
                       LogSpace* space, std::unique_ptr<WordLog> word_log,
                       const RewindOptions& options)
    : checked_(words),
      region_(words.region()),
      root_(root),
      space_(space),
      word_log_(std::move(word_log)),
      most_records_(options.form == LogForm::kBatch ? options.group : 1) {}

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

bool RecordTree::Complete(size_t records) const {
  const size_t next = kWordsOfLevel * (HeightOf(Get(root_)) + 1);
  return records == most_records_ || !word_log_->HasRoom(next);
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
    word_log_->Commit();
    in_change = 0;
  }
  word_log_->Commit();
}

void RecordTree::Remove(absl::Span<const Indexed> records) {
  std::vector<uint64_t> nodes;
  const auto finish = [&] {
    word_log_->Commit();
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
  return word_log_->Recover(
      [this](uint64_t address) { return IsWord(address); });
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
