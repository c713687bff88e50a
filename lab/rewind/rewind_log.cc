#include "lab/rewind/rewind_log.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/log_seed.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"
#include "lab/rewind/log_format.h"
#include "lab/rewind/record_list.h"
#include "lab/rewind/record_tree.h"

namespace kamino::engine {

using rewind_format::Compensation;
using rewind_format::End;
using rewind_format::kAborted;
using rewind_format::kHasNew;
using rewind_format::kHasOld;
using rewind_format::kUnitBytes;
using rewind_format::LogFormat;
using rewind_format::LogHeader;

namespace {

// A change of more bytes is several records.
constexpr uint32_t kPieceBytes = 16u << 10;
// A larger record lies in the heap, if it takes more than this part of what is
// free of the log.
constexpr size_t kMostUnits = 64;
constexpr size_t kMostPart = 8;
constexpr size_t kLeastCells = 8;
// Least part of the log's area for the records themselves.
constexpr size_t kLeastSpace = 4u << 10;

absl::Status Damaged(uint64_t offset) {
  return absl::DataLossError(absl::StrCat(
      "the log is damaged: no record of it is at offset ", offset));
}

size_t UnitsFor(size_t bytes) { return (bytes + kUnitBytes - 1) / kUnitBytes; }

size_t WordsBytes(const RewindOptions& options, size_t log_bytes) {
  return options.layers == 2 ? RecordTree::WordsBytes(log_bytes) : 0;
}

// Where the space for records begins, from the log area's start.
size_t SpaceBegin(const RewindOptions& options, size_t log_bytes) {
  return sizeof(LogHeader) + WordsBytes(options, log_bytes);
}

// A bucket takes an eighth of the space at most.
size_t CellsFor(const RewindOptions& options, size_t space_bytes) {
  const size_t most = space_bytes / 8 / sizeof(uint64_t);
  return std::max(kLeastCells, std::min(options.bucket, most));
}

LogSpace SpaceOf(const Heap& heap, const RewindOptions& options) {
  const absl::Span<std::byte> area = heap.log_area();
  const uint64_t begin = area.data() - heap.region()->base();
  return LogSpace(begin + SpaceBegin(options, area.size()),
                  begin + area.size());
}

size_t DataBytesOf(const rewind_format::RecordHeader& header) {
  using rewind_format::RecordType;
  switch (static_cast<RecordType>(header.type)) {
    case RecordType::kUpdate:
    case RecordType::kDelete: {
      const size_t copies = ((header.flags & kHasOld) != 0 ? 1 : 0) +
                            ((header.flags & kHasNew) != 0 ? 1 : 0);
      return copies * header.length;
    }
    case RecordType::kCompensation:
      return sizeof(Compensation);
    case RecordType::kEnd:
      return sizeof(End);
    case RecordType::kCheckpoint:
      break;
  }
  return 0;
}

}  // namespace

size_t RewindLog::MinBytes(const RewindOptions& options) {
  return sizeof(LogHeader) + WordsBytes(options, 0) + kLeastSpace;
}

RewindLog::RewindLog(Heap* heap, const RewindOptions& options, LogFormat format)
    : heap_(heap),
      region_(heap->region()),
      options_(options),
      seed_(LogSeed(heap->uuid())),
      words_(WordsOf(*heap, format)),
      marks_(format == LogFormat::kPlain ? &LogHeaderOf(*heap)->plain_marks
                                         : &LogHeaderOf(*heap)->marks),
      last_sequence_(SequenceMarkOf(*heap, format)),
      space_(SpaceOf(*heap, options)) {
  CHECK_GE(heap->log_area().size(), MinBytes(options));
  LogHeader* const header = LogHeaderOf(*heap);
  auto* const list =
      format == LogFormat::kPlain ? &header->plain_list : &header->list;
  TurnLock lock(&mutex_);
  if (options.layers == 1) {
    index_ = absl::make_unique<RecordList>(
        words_, list, &space_, options.form,
        CellsFor(options, space_.size() * kUnitBytes), options.group);
    return;
  }
  const uint64_t begin =
      heap->log_area().data() - region_->base() + sizeof(LogHeader);
  index_ = absl::make_unique<RecordTree>(
      words_, list, &marks_->root, &space_, begin,
      begin + WordsBytes(options, heap->log_area().size()), options);
}

uint64_t RewindLog::CheckOf(const RecordHeader& header, uint64_t offset,
                            const std::byte* data, size_t data_bytes) const {
  uint64_t seed = seed_ ^ offset;
  if (data_bytes > 0) seed ^= XXH3_64bits(data, data_bytes);
  return XXH3_64bits_withSeed(&header, offsetof(RecordHeader, check), seed);
}

// --- Recovery.

absl::Status RewindLog::Finish() {
  TurnLock lock(&mutex_);
  return index_->Finish();
}

absl::StatusOr<FoundRecord> RewindLog::Parse(uint64_t offset) const {
  const uint64_t objects = heap_->objects_begin();
  const uint64_t end = region_->size();
  const uint64_t log = heap_->log_area().data() - region_->base();
  // Those that lie in the heap are behind the log.
  if (offset % kUnitBytes != 0 || offset < log ||
      offset > end - sizeof(RecordHeader)) {
    return Damaged(offset);
  }
  FoundRecord found;
  found.offset = offset;
  found.header = reinterpret_cast<const RecordHeader*>(At(offset));
  const std::byte* data = At(offset) + sizeof(RecordHeader);
  // Bounds what the check covers before the check is computed.
  if (found.header->length > kPieceBytes) return Damaged(offset);
  const size_t data_bytes = DataBytesOf(*found.header);
  if (data_bytes > end - offset - sizeof(RecordHeader) ||
      found.header->check != CheckOf(*found.header, offset, data, data_bytes)) {
    return Damaged(offset);
  }
  switch (static_cast<RecordType>(found.header->type)) {
    case RecordType::kUpdate:
    case RecordType::kDelete:
      if (found.header->address < objects || found.header->address > end ||
          found.header->length > end - found.header->address) {
        return absl::DataLossError(
            absl::StrCat("the log is damaged: its record at offset ", offset,
                         " is of ", found.header->length, " bytes at ",
                         found.header->address, ", outside of the objects"));
      }
      break;
    case RecordType::kCompensation:
    case RecordType::kEnd:
    case RecordType::kCheckpoint:
      break;
    default:
      return Damaged(offset);
  }
  if (found.header->type == static_cast<uint8_t>(RecordType::kCompensation)) {
    std::memcpy(&found.compensation, data, sizeof(found.compensation));
  } else if (found.header->type == static_cast<uint8_t>(RecordType::kEnd)) {
    std::memcpy(&found.sequence, data, sizeof(found.sequence));
  } else {
    const bool has_old = (found.header->flags & kHasOld) != 0;
    if (has_old) found.old_bytes = data;
    if ((found.header->flags & kHasNew) != 0) {
      found.new_bytes = data + (has_old ? found.header->length : 0);
    }
  }
  return found;
}

absl::StatusOr<std::vector<FoundRecord>> RewindLog::Scan() const {
  TurnLock lock(&mutex_);
  ASSIGN_OR_RETURN(auto offsets, index_->Scan());
  // Each is looked at once.
  std::sort(offsets.begin(), offsets.end());
  const auto twice = std::adjacent_find(offsets.begin(), offsets.end());
  if (twice != offsets.end()) {
    return absl::DataLossError(absl::StrCat(
        "the log is damaged: it has the record at offset ", *twice, " twice"));
  }
  std::vector<FoundRecord> records;
  for (const uint64_t offset : offsets) {
    ASSIGN_OR_RETURN(const FoundRecord record, Parse(offset));
    records.push_back(record);
  }
  std::sort(records.begin(), records.end(),
            [](const FoundRecord& a, const FoundRecord& b) {
              return a.header->id < b.header->id;
            });
  return records;
}

absl::StatusOr<rewind_format::Marks> RewindLog::ReadMarks() const {
  rewind_format::Marks marks{};
  ASSIGN_OR_RETURN(marks.floor, words_.Read(&marks_->floor));
  ASSIGN_OR_RETURN(marks.last_sequence, last_sequence_.Read());
  ASSIGN_OR_RETURN(marks.root, words_.Read(&marks_->root));
  return marks;
}

void RewindLog::Reset(uint64_t last_sequence) {
  TurnLock lock(&mutex_);
  last_sequence_.Store(last_sequence);
  region_->Drain();
  index_->Empty();
  words_.Persist(&marks_->floor, 0);
  sequence_ = last_sequence;
}

// --- Space.

absl::Status RewindLog::Full() const {
  Reached(LabBranch::kRewindLogFull);
  const size_t ended = finished_.size() + leaving_;
  if (live_ > 1 || ended > 0) {
    return ResourceError(
        Resource::kLog,
        absl::StrCat("the log is full of the records of ", live_,
                     " unfinished transactions, and ", ended, " that ended"));
  }
  return ResourceError(Resource::kTransaction,
                       "no space in log and heap for the transaction's "
                       "records; make it smaller, or the heap larger");
}

bool RewindLog::KeepUnit(OwnRecords* own) {
  if (!index_->Reserve(1)) return false;
  const auto unit = space_.Take(1);
  if (!unit.has_value()) {
    index_->Unreserve(1);
    return false;
  }
  own->kept.push_back(*unit);
  return true;
}

void RewindLog::GiveKept(OwnRecords* own) {
  index_->Unreserve(own->kept.size());
  for (uint64_t unit : own->kept) space_.Give(unit, 1);
  own->kept.clear();
}

absl::Status RewindLog::BeginLocked(OwnRecords* own) {
  if (own->transaction != 0) return absl::OkStatus();
  ++live_;
  if (!KeepUnit(own)) {
    absl::Status full = Full();
    --live_;
    return full;
  }
  own->transaction = next_transaction_++;
  return absl::OkStatus();
}

void RewindLog::Drop(OwnRecords* own) {
  if (own->transaction == 0) return;
  TurnLock lock(&mutex_);
  CHECK(own->records.empty() && !own->end.has_value());
  GiveKept(own);
  --live_;
  *own = OwnRecords();
}

std::optional<LogRecord> RewindLog::Place(size_t bytes) {
  LogRecord record;
  record.units = UnitsFor(bytes);
  const auto take_units = [&] {
    const auto taken = space_.Take(record.units);
    record.indexed.record = taken.value_or(0);
    return taken.has_value();
  };
  const bool is_small =
      record.units <= kMostUnits || record.units <= space_.free() / kMostPart;
  if (is_small && take_units()) return record;
  if (const auto block = heap_->Reserve(static_cast<uint32_t>(bytes));
      block.ok()) {
    Reached(LabBranch::kRewindRecordInHeap);
    record.block = record.indexed.record = *block;
    ++blocks_;
    return record;
  }
  // The heap is full.
  if (!is_small && take_units()) return record;
  return std::nullopt;
}

void RewindLog::GiveBack(const LogRecord& record) {
  if (record.block != kNullObject) {
    heap_->Release(record.block);
    --blocks_;
  } else {
    space_.Give(record.indexed.record, record.units);
  }
}

// --- Records.

void RewindLog::Write(LogRecord* record, uint64_t transaction,
                      const Draft& draft, uint8_t flags) {
  RecordHeader header{};
  header.id = record->indexed.id = next_id_++;
  header.transaction = record->indexed.transaction = transaction;
  header.address = record->address = draft.address;
  header.length = record->length = draft.length;
  header.type = static_cast<uint8_t>(draft.type);
  record->type = draft.type;
  header.flags = flags;
  const uint64_t offset = record->indexed.record;
  std::byte* const data = At(offset) + sizeof(header);
  std::byte* to = data;
  for (const std::byte* bytes : {draft.old_bytes, draft.new_bytes}) {
    if (bytes == nullptr) continue;
    std::memcpy(to, bytes, draft.length);
    to += draft.length;
  }
  if (draft.old_bytes != nullptr) record->old_bytes = data;
  header.check = CheckOf(header, offset, data, to - data);
  std::memcpy(At(offset), &header, sizeof(header));
  region_->Flush(At(offset), to - At(offset));
  ++records_since_checkpoint_;
}

LogRecord RewindLog::WriteSmall(uint64_t unit, uint64_t transaction,
                                RecordType type, uint8_t flags,
                                absl::Span<const std::byte> data) {
  LogRecord record;
  record.units = 1;
  record.type = type;
  record.indexed = {unit, transaction, next_id_++, 0};
  RecordHeader header{};
  header.id = record.indexed.id;
  header.transaction = transaction;
  header.type = static_cast<uint8_t>(type);
  header.flags = flags;
  std::byte* const bytes = At(unit) + sizeof(header);
  if (!data.empty()) std::memcpy(bytes, data.data(), data.size());
  header.check = CheckOf(header, unit, bytes, data.size());
  std::memcpy(At(unit), &header, sizeof(header));
  region_->Flush(At(unit), sizeof(header) + data.size());
  ++records_since_checkpoint_;
  return record;
}

absl::StatusOr<std::vector<LogRecord>> RewindLog::Make(
    OwnRecords* own, absl::Span<const Draft> drafts) {
  RETURN_IF_ERROR(BeginLocked(own));
  std::vector<LogRecord> made;
  const size_t kept = own->kept.size();
  size_t places = 0;
  const auto take_room = [&](const Draft& piece) {
    const size_t copies = (piece.old_bytes != nullptr ? 1 : 0) +
                          (piece.new_bytes != nullptr ? 1 : 0);
    if (!index_->Reserve(1)) return false;
    ++places;
    if (piece.old_bytes != nullptr && !KeepUnit(own)) return false;
    auto placed = Place(sizeof(RecordHeader) + copies * piece.length);
    if (!placed.has_value()) return false;
    made.push_back(*placed);
    return true;
  };
  std::vector<Draft> pieces;
  for (const Draft& draft : drafts) {
    for (uint32_t at = 0; at < draft.length; at += kPieceBytes) {
      Draft piece = draft;
      piece.address += at;
      piece.length = std::min(kPieceBytes, draft.length - at);
      if (piece.old_bytes != nullptr) piece.old_bytes += at;
      if (piece.new_bytes != nullptr) piece.new_bytes += at;
      pieces.push_back(piece);
      if (take_room(piece)) continue;
      for (const LogRecord& record : made) GiveBack(record);
      for (; own->kept.size() > kept; own->kept.pop_back()) {
        space_.Give(own->kept.back(), 1);
        ++places;
      }
      index_->Unreserve(places);
      return Full();
    }
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    const uint8_t flags =
        static_cast<uint8_t>((pieces[i].old_bytes != nullptr ? kHasOld : 0) |
                             (pieces[i].new_bytes != nullptr ? kHasNew : 0));
    Write(&made[i], own->transaction, pieces[i], flags);
  }
  return made;
}

void RewindLog::Index(absl::Span<LogRecord> records, bool in_order) {
  std::vector<Indexed> indexed;
  for (const LogRecord& record : records) indexed.push_back(record.indexed);
  index_->Append(absl::MakeSpan(indexed), in_order);
  for (size_t i = 0; i < records.size(); ++i) records[i].indexed = indexed[i];
}

absl::Status RewindLog::Append(OwnRecords* own,
                               absl::Span<const Draft> drafts) {
  if (drafts.empty()) return absl::OkStatus();
  TurnLock lock(&mutex_);
  ASSIGN_OR_RETURN(auto made, Make(own, drafts));
  Index(absl::MakeSpan(made), /*in_order=*/false);
  own->records.insert(own->records.end(), made.begin(), made.end());
  return absl::OkStatus();
}

LogRecord RewindLog::MakeEnd(OwnRecords* own, uint64_t sequence, bool aborted) {
  const End end{sequence};
  const uint64_t unit = own->kept.back();
  own->kept.pop_back();
  own->sequence = sequence;
  const LogRecord record = WriteSmall(
      unit, own->transaction, RecordType::kEnd, aborted ? kAborted : 0,
      {reinterpret_cast<const std::byte*>(&end), sizeof(end)});
  // Until Finished: no floor passes it, whatever is flushed meanwhile.
  if (!options_.force) storing_.insert(record.indexed.id);
  return record;
}

absl::Status RewindLog::AppendEnd(OwnRecords* own,
                                  absl::Span<const Draft> drafts,
                                  uint64_t sequence) {
  TurnLock lock(&mutex_);
  ASSIGN_OR_RETURN(auto made, Make(own, drafts));
  const size_t before_end = made.size();
  // There is none behind the last.
  if (sequence == 0) sequence = std::max(sequence_ + 1, sequence_);
  sequence_ = std::max(sequence_, sequence);
  made.push_back(MakeEnd(own, sequence, /*aborted=*/false));
  const absl::Span<LogRecord> all = absl::MakeSpan(made);
  if (options_.form == LogForm::kBatch) {
    Index(all, /*in_order=*/true);
  } else {
    Index(all.first(before_end), /*in_order=*/false);
    Index(all.subspan(before_end), /*in_order=*/true);
  }
  own->end = made.back();
  made.pop_back();
  own->records.insert(own->records.end(), made.begin(), made.end());
  return absl::OkStatus();
}

void RewindLog::AppendCompensations(OwnRecords* own,
                                    absl::Span<const LogRecord* const> undone) {
  TurnLock lock(&mutex_);
  std::vector<LogRecord> made;
  for (const LogRecord* update : undone) {
    const Compensation compensation{update->indexed.id, update->indexed.record};
    const uint64_t unit = own->kept.back();
    own->kept.pop_back();
    made.push_back(
        WriteSmall(unit, own->transaction, RecordType::kCompensation, 0,
                   {reinterpret_cast<const std::byte*>(&compensation),
                    sizeof(compensation)}));
  }
  Index(absl::MakeSpan(made), /*in_order=*/true);
  own->records.insert(own->records.end(), made.begin(), made.end());
}

void RewindLog::AppendAborted(OwnRecords* own) {
  TurnLock lock(&mutex_);
  LogRecord end = MakeEnd(own, /*sequence=*/0, /*aborted=*/true);
  Index({&end, 1}, /*in_order=*/true);
  own->end = end;
}

size_t RewindLog::blocks() const {
  TurnLock lock(&mutex_);
  return blocks_;
}

}  // namespace kamino::engine
