#include "lab/rewind/record_table.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "lab/explore.h"
#include "lab/rewind/log_format.h"
#include "lab/rewind/record_list.h"
#include "lab/rewind/record_tree.h"
#include "lab/rewind/word_log.h"

namespace kamino::engine {

using rewind_format::kUnitBytes;
using rewind_format::LogFormat;
using rewind_format::LogHeader;
using rewind_format::RecordType;

namespace {

// A larger record lies in the heap, if it takes more than this part of what is
// free of the log.
constexpr size_t kMostUnits = 64;
constexpr size_t kMostPart = 8;
constexpr size_t kLeastCells = 8;
// Least part of the log's area for the records themselves.
constexpr size_t kLeastSpace = 4u << 10;

size_t UnitsFor(size_t bytes) { return (bytes + kUnitBytes - 1) / kUnitBytes; }

size_t WordsBytes(const RewindOptions& options, size_t log_bytes) {
  return options.layers == 2 ? WordLog::BytesOf(log_bytes) : 0;
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

std::unique_ptr<RecordIndex> MakeIndex(const Heap& heap,
                                       const RewindOptions& options,
                                       LogFormat format, LogSpace* space) {
  const CheckedWords words = WordsOf(heap, format);
  rewind_format::ListState* const list = ListOf(heap, format);
  if (options.layers == 1) {
    const size_t bucket = CellsFor(options, space->size() * kUnitBytes);
    return absl::make_unique<RecordList>(
        words, list, space, ListShape{options.form, bucket, options.group});
  }
  const uint64_t begin =
      heap.log_area().data() - heap.region()->base() + sizeof(LogHeader);
  return absl::make_unique<RecordTree>(
      words, &MarksOf(heap, format)->root, space,
      absl::make_unique<WordLog>(
          words, list, begin,
          begin + WordsBytes(options, heap.log_area().size()), options),
      options);
}

// Changes of at most so many bytes that a record can take.
std::vector<Draft> PiecesOf(absl::Span<const Draft> drafts) {
  std::vector<Draft> pieces;
  for (const Draft& draft : drafts) {
    for (uint32_t at = 0; at < draft.length; at += RecordCodec::kMostLength) {
      Draft piece = draft;
      piece.address += at;
      piece.length = std::min(RecordCodec::kMostLength, draft.length - at);
      if (piece.old_bytes != nullptr) piece.old_bytes += at;
      if (piece.new_bytes != nullptr) piece.new_bytes += at;
      pieces.push_back(piece);
    }
  }
  return pieces;
}

}  // namespace

size_t RecordTable::MinBytes(const RewindOptions& options) {
  return SpaceBegin(options, 0) + kLeastSpace;
}

RecordTable::RecordTable(Heap* heap, const RewindOptions& options,
                         LogFormat format)
    : heap_(heap),
      codec_(*heap),
      space_(SpaceOf(*heap, options)),
      index_(MakeIndex(*heap, options, format, &space_)) {
  CHECK_GE(heap->log_area().size(), MinBytes(options));
}

// --- Recovery.

absl::StatusOr<std::vector<FoundRecord>> RecordTable::Scan() const {
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
    ASSIGN_OR_RETURN(const FoundRecord record, codec_.Read(offset));
    records.push_back(record);
  }
  std::sort(records.begin(), records.end(),
            [](const FoundRecord& a, const FoundRecord& b) {
              return a.header->id < b.header->id;
            });
  return records;
}

// --- Space.

bool RecordTable::Keep(OwnRecords* own) {
  if (!index_->Reserve(1)) return false;
  const auto unit = space_.Take(1);
  if (!unit.has_value()) {
    index_->Unreserve(1);
    return false;
  }
  own->kept.push_back(*unit);
  return true;
}

void RecordTable::GiveKept(OwnRecords* own) {
  index_->Unreserve(own->kept.size());
  for (uint64_t unit : own->kept) space_.Give(unit, 1);
  own->kept.clear();
}

std::optional<LogRecord> RecordTable::Place(size_t bytes) {
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

void RecordTable::GiveBack(const LogRecord& record) {
  if (record.block != kNullObject) {
    heap_->Release(record.block);
    --blocks_;
  } else {
    space_.Give(record.indexed.record, record.units);
  }
}

// --- Writing.

bool RecordTable::TakeRoom(const Draft& piece, OwnRecords* own,
                           std::vector<LogRecord>* placed, size_t* places) {
  if (!index_->Reserve(1)) return false;
  ++*places;
  if (piece.old_bytes != nullptr && !Keep(own)) return false;
  const auto place = Place(RecordCodec::BytesOf(piece));
  if (!place.has_value()) return false;
  placed->push_back(*place);
  return true;
}

std::optional<std::vector<LogRecord>> RecordTable::Write(
    OwnRecords* own, absl::Span<const Draft> drafts) {
  const std::vector<Draft> pieces = PiecesOf(drafts);
  std::vector<LogRecord> made;
  const size_t kept = own->kept.size();
  size_t places = 0;
  for (const Draft& piece : pieces) {
    if (TakeRoom(piece, own, &made, &places)) continue;
    for (const LogRecord& record : made) GiveBack(record);
    for (; own->kept.size() > kept; own->kept.pop_back()) {
      space_.Give(own->kept.back(), 1);
      ++places;
    }
    index_->Unreserve(places);
    return std::nullopt;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    made[i].indexed.transaction = own->transaction;
    made[i].indexed.id = next_id_++;
    codec_.Write(pieces[i], &made[i]);
  }
  return made;
}

LogRecord RecordTable::WriteSmall(uint64_t unit, uint64_t transaction,
                                  RecordType type, uint8_t flags,
                                  absl::Span<const std::byte> data) {
  LogRecord record;
  record.units = 1;
  record.type = type;
  record.indexed = {unit, transaction, next_id_++, 0};
  codec_.WriteSmall(record, flags, data);
  return record;
}

LogRecord RecordTable::WriteKept(OwnRecords* own, RecordType type,
                                 uint8_t flags,
                                 absl::Span<const std::byte> data) {
  const uint64_t unit = own->kept.back();
  own->kept.pop_back();
  return WriteSmall(unit, own->transaction, type, flags, data);
}

std::optional<LogRecord> RecordTable::AppendCheckpoint() {
  if (!index_->Reserve(1)) return std::nullopt;
  const auto unit = space_.Take(1);
  if (!unit.has_value()) {
    index_->Unreserve(1);
    return std::nullopt;
  }
  LogRecord mark = WriteSmall(*unit, 0, RecordType::kCheckpoint, 0, {});
  Index({&mark, 1}, /*in_order=*/true);
  return mark;
}

void RecordTable::Index(absl::Span<LogRecord> records, bool in_order) {
  std::vector<Indexed> indexed;
  for (const LogRecord& record : records) indexed.push_back(record.indexed);
  index_->Append(absl::MakeSpan(indexed), in_order);
  for (size_t i = 0; i < records.size(); ++i) records[i].indexed = indexed[i];
}

// --- Looking.

size_t RecordTable::CountOf(uint64_t transaction) const {
  const auto offsets = index_->Scan();
  CHECK(offsets.ok()) << offsets.status();
  return std::count_if(offsets->begin(), offsets->end(), [&](uint64_t offset) {
    return codec_.HeaderAt(offset).transaction == transaction;
  });
}

}  // namespace kamino::engine
