#include "lab/rewind/word_log.h"

#include <xxhash.h>

#include <algorithm>

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

constexpr size_t kLeastCells = 8;
// Buckets that are filled, and one of words whose removal is under way.
constexpr size_t BucketsFor(size_t words) { return words / kMostCells + 4; }

uint64_t CheckOf(const rewind_format::WordRecord& record, uint64_t offset) {
  return XXH3_64bits_withSeed(
      &record, offsetof(rewind_format::WordRecord, check), offset);
}

ListShape ShapeOf(const RewindOptions& options) {
  return {options.form, std::clamp(options.bucket, kLeastCells, kMostCells),
          options.group};
}

}  // namespace

size_t WordLog::BytesOf(size_t log_bytes) {
  const size_t words = MostWords(log_bytes);
  // Nodes of form simple take more than buckets.
  const size_t list =
      std::max(words + 2, BucketsFor(words) * RecordList::UnitsOf(kMostCells));
  return (words + 1 + list) * kUnitBytes;
}

WordLog::WordLog(const CheckedWords& words, rewind_format::ListState* list,
                 uint64_t begin, uint64_t end, const RewindOptions& options)
    : checked_(words),
      region_(words.region()),
      form_(options.form),
      most_words_(end - begin < BytesOf(kSmallLog) ? MostWords(0)
                                                   : MostWords(kSmallLog)),
      words_(begin),
      space_(begin + (most_words_ + 1) * kUnitBytes, end),
      list_(words, list, &space_, ShapeOf(options)) {}

// --- The change under way.

uint64_t WordLog::Get(const uint64_t* word) const {
  const auto found = index_.find(word);
  return found == index_.end() ? checked_.Get(word)
                               : changed_[found->second].value;
}

void WordLog::Set(uint64_t* word, uint64_t value) {
  if (Get(word) == value) return;
  const auto [found, fresh] = index_.emplace(word, changed_.size());
  if (fresh) changed_.push_back({word, 0});
  changed_[found->second].value = value;
}

bool WordLog::HasRoom(size_t words) const {
  return changed_.size() + words <= most_words_;
}

void WordLog::Append(absl::Span<Indexed> words) {
  if (form_ == LogForm::kBatch) {
    list_.Append(words, /*in_order=*/false);
    return;
  }
  for (Indexed& word : words) list_.Append({&word, 1}, /*in_order=*/true);
}

void WordLog::Log(WordKind kind, uint64_t address, uint64_t old_value) {
  const uint64_t offset = words_ + logged_.size() * kUnitBytes;
  auto* const record = reinterpret_cast<WordRecord*>(checked_.At(offset));
  *record = WordRecord{static_cast<uint64_t>(kind), address, old_value, 0, {}};
  record->check = CheckOf(*record, offset);
  region_->Flush(record, sizeof(*record));
  logged_.push_back({offset, 0, 0, 0});
}

void WordLog::Commit() {
  if (changed_.empty()) return;
  CHECK_LE(changed_.size(), most_words_) << "the log's tree is too high";
  logged_.clear();
  for (const Word& word : changed_) {
    Log(WordKind::kWord, checked_.OffsetOf(word.word), *word.word);
  }
  CHECK(list_.Reserve(logged_.size() + 1)) << "no space for the tree's words";
  Append(absl::MakeSpan(logged_));
  for (const Word& word : changed_) {
    checked_.Store(word.word, word.value);
    checked_.Flush(word.word);
  }
  region_->Drain();
  Log(WordKind::kEnd, 0, 0);
  Append(absl::MakeSpan(&logged_.back(), 1));
  const Indexed end = logged_.back();
  logged_.pop_back();
  list_.Remove(logged_);
  list_.Remove({&end, 1});
  changed_.clear();
  index_.clear();
}

// --- Recovery.

absl::Status WordLog::Recover(absl::FunctionRef<bool(uint64_t)> is_word) {
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
    } else if (!is_word(record->address)) {
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

}  // namespace kamino::engine
