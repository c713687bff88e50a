#include "lab/archapt/undo_scan.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "lab/archapt/archapt_format.h"

namespace kamino::engine {

using archapt_format::kBatchMask;
using archapt_format::RecordHeader;
using archapt_format::RecordType;

namespace {

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the log is damaged: ", what));
}

class UndoScan {
 public:
  UndoScan(const UndoHeader& header, const UndoRecords& records,
           const ObjectArea& objects)
      : header_(header), records_(records), objects_(objects) {}

  absl::StatusOr<UndoContents> Run();

 private:
  absl::Status CheckNew() const;
  absl::Status CheckRest(uint64_t from, uint64_t end) const;
  absl::Status CheckUpdate(const RecordHeader& header) const;
  absl::Status Note(const RecordHeader& header);
  void NoteCommitted(const RecordHeader& header);
  UndoContents WithoutEnded(uint64_t given);

  const UndoHeader& header_;
  const UndoRecords& records_;
  const ObjectArea objects_;

  uint64_t newest_commit_ = 0;  // by the header
  bool has_commit_ = false;     // whether that is where it has to be
  uint64_t watermark_ = 0;
  std::vector<UndoContents::Update> updates_;
  absl::flat_hash_set<uint64_t> ended_;  // transactions
};

// A header that is lost reads as that of a new heap. Records are where they
// would not be: a recovery leaves the tail a whole ring further on.
absl::Status UndoScan::CheckNew() const {
  const auto line = records_.FindPastFirstRound();
  if (!line.has_value()) return absl::OkStatus();
  return Damaged(absl::StrCat("its header is that of a new one, and line ",
                              *line, " has a record"));
}

// A crash leaves a part of the last batch at most (UndoRing, invariant 1).
absl::Status UndoScan::CheckRest(uint64_t from, uint64_t end) const {
  for (uint64_t line = from; line < end; ++line) {
    const auto header = records_.Read(line, end);
    if (!header.has_value()) continue;
    if (line - (header->type_and_batch & kBatchMask) > from) {
      return Damaged(absl::StrCat("there is no record at its line ", from,
                                  ", and there is one behind, at ", line));
    }
  }
  return absl::OkStatus();
}

absl::Status UndoScan::CheckUpdate(const RecordHeader& header) const {
  if (header.address >= objects_.begin && header.address <= objects_.end &&
      header.length <= objects_.end - header.address) {
    return absl::OkStatus();
  }
  return Damaged(absl::StrCat("its record at line ", header.line, " is of ",
                              header.length, " bytes at ", header.address,
                              ", outside of the objects"));
}

void UndoScan::NoteCommitted(const RecordHeader& header) {
  const auto numbers = records_.DataOf(header.line, header.length);
  for (size_t at = 0; at + 8 <= numbers.size(); at += 8) {
    uint64_t transaction;
    std::memcpy(&transaction, numbers.data() + at, sizeof(transaction));
    ended_.insert(transaction);
  }
  watermark_ = std::max(watermark_, header.address);
  has_commit_ |= header.line == newest_commit_;
}

absl::Status UndoScan::Note(const RecordHeader& header) {
  switch (static_cast<RecordType>(header.type_and_batch >> 24)) {
    case RecordType::kUpdate:
      RETURN_IF_ERROR(CheckUpdate(header));
      updates_.push_back(
          {{header.line, header.address, header.length}, header.transaction});
      return absl::OkStatus();
    case RecordType::kCommitted:
      NoteCommitted(header);
      return absl::OkStatus();
    case RecordType::kAborted:
      ended_.insert(header.transaction);
      return absl::OkStatus();
    default:
      return Damaged(absl::StrCat("its record at line ", header.line,
                                  " is of no type that there is"));
  }
}

UndoContents UndoScan::WithoutEnded(uint64_t given) {
  UndoContents contents;
  contents.watermark = watermark_;
  absl::flat_hash_set<uint64_t> unfinished;
  for (const UndoContents::Update& update : updates_) {
    if (ended_.contains(update.transaction)) continue;
    unfinished.insert(update.transaction);
    contents.updates.push_back(update);
  }
  contents.transactions = unfinished.size();
  // A transaction with a place that is not committed physically logged
  // something before.
  contents.given = std::max(given, contents.watermark) + contents.transactions;
  return contents;
}

absl::StatusOr<UndoContents> UndoScan::Run() {
  const auto words = header_.Read();
  if (!words.has_value()) return Damaged("its header is no header");
  if (words->tail == 0) RETURN_IF_ERROR(CheckNew());
  watermark_ = words->watermark;
  newest_commit_ = words->newest_commit;
  // A record that the tail has passed is not needed: the header has the
  // watermark.
  has_commit_ = newest_commit_ < words->tail || newest_commit_ == 0 ||
                !records_.checked();
  const uint64_t end = words->tail + records_.lines();
  uint64_t line = words->tail;
  while (line < end) {
    const auto header = records_.Read(line, end);
    if (!header.has_value()) break;
    RETURN_IF_ERROR(Note(*header));
    line += UndoRecords::LinesOf(header->length);
  }
  RETURN_IF_ERROR(CheckRest(line, end));
  if (!has_commit_) {
    return Damaged(absl::StrCat("its header says that line ", newest_commit_,
                                " has a record of commits, and it has none"));
  }
  return WithoutEnded(words->given);
}

}  // namespace

absl::StatusOr<UndoContents> ScanUndo(const UndoHeader& header,
                                      const UndoRecords& records,
                                      const ObjectArea& objects) {
  return UndoScan(header, records, objects).Run();
}

}  // namespace kamino::engine
