#include "engine/kamino/undo_log.h"

#include <algorithm>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/kamino/checksum.h"
#include "engine/kamino/undo_copy_header.h"
#include "engine/resource_error.h"

namespace kamino::engine {
namespace {

using undo_copy_format::kHeaderBytes;
using undo_copy_format::Kind;
using undo_copy_format::kUndoAlignment;
using undo_copy_format::UndoPiece;
using undo_copy_format::UndoRecord;

constexpr uint64_t kMostSmall = 4096;

constexpr uint64_t Padded(uint64_t bytes, uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Each piece begins at a word.
constexpr uint64_t PieceBytes(const UndoPiece& piece) {
  return Padded(piece.length, 8);
}

absl::Span<const std::byte> BytesOf(const void* data, size_t size) {
  return absl::MakeConstSpan(static_cast<const std::byte*>(data), size);
}

// Covers header and pieces; the saved bytes are folded in after that.
uint64_t ChecksumOf(uint64_t seed, const UndoRecord& record,
                    absl::Span<const UndoPiece> pieces) {
  constexpr size_t kFrom = offsetof(UndoRecord, number);
  const uint64_t header =
      Checksum(BytesOf(&record, sizeof(record)).subspan(kFrom));
  const uint64_t list =
      Checksum(BytesOf(pieces.data(), pieces.size() * sizeof(UndoPiece)));
  return FoldHash(FoldHash(seed, header), list);
}

}  // namespace

size_t UndoLog::RegionBytes(size_t bytes) {
  return kHeaderBytes + Padded(bytes, 4096);
}

absl::StatusOr<std::unique_ptr<UndoLog>> UndoLog::Create(const Heap* heap,
                                                         Region* region) {
  if (region->size() < RegionBytes(1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an undo log of ", region->size(),
                     " bytes; it must be at least ", RegionBytes(1)));
  }
  auto log = absl::WrapUnique(new UndoLog(heap, region));
  ++log->round();
  region->Persist(&log->round(), sizeof(uint64_t));
  log->Reuse();
  WriteUndoCopyHeader(*heap, Kind::kLog, region);
  return log;
}

absl::StatusOr<std::unique_ptr<UndoLog>> UndoLog::Open(const Heap* heap,
                                                       Region* region) {
  RETURN_IF_ERROR(CheckUndoCopyHeader(*heap, Kind::kLog, *region));
  auto log = absl::WrapUnique(new UndoLog(heap, region));
  log->Reuse();
  log->Scan();
  return log;
}

void UndoLog::Scan() {
  while (const uint64_t bytes = CheckedBytes(end_)) {
    const auto& record =
        *reinterpret_cast<const UndoRecord*>(region_->base() + end_);
    if (record.number < newest()) return;  // of an earlier round
    records_.push_back({end_, record.number});
    seed_ = record.checksum;
    end_ += bytes;
  }
}

uint64_t UndoLog::CheckedBytes(uint64_t offset) const {
  const uint64_t room = region_->size() - offset;
  if (room < sizeof(UndoRecord)) return 0;
  const std::byte* at = region_->base() + offset;
  const auto& record = *reinterpret_cast<const UndoRecord*>(at);
  if (record.bytes > room || record.bytes % kUndoAlignment != 0 ||
      record.bytes / sizeof(UndoPiece) < record.pieces) {
    return 0;
  }
  uint64_t used = sizeof(UndoRecord) + record.pieces * sizeof(UndoPiece);
  if (used > record.bytes) return 0;
  const auto pieces = absl::MakeConstSpan(
      reinterpret_cast<const UndoPiece*>(at + sizeof(UndoRecord)),
      record.pieces);
  uint64_t checksum = ChecksumOf(seed_, record, pieces);
  for (const UndoPiece& piece : pieces) {
    if (PieceBytes(piece) > record.bytes - used) return 0;
    if (!LiesWithin({piece.object, piece.offset, piece.length})) return 0;
    checksum = FoldHash(checksum, Checksum({at + used, piece.length}));
    used += PieceBytes(piece);
  }
  return checksum == record.checksum ? record.bytes : 0;
}

bool UndoLog::LiesWithin(const Intent& intent) const {
  const uint64_t size = heap_->region()->size();
  const uint64_t begin = intent.object + intent.offset;
  return intent.object >= heap_->objects_begin() && intent.object <= size &&
         begin <= size && intent.length <= size - begin;
}

absl::Status UndoLog::Save(uint64_t number, absl::Span<const Intent> intents) {
  pieces_.clear();
  uint64_t saved = 0;
  for (const Intent& intent : intents) {
    if (intent.kind != IntentKind::kWrite || !LiesWithin(intent)) continue;
    pieces_.push_back({intent.object, intent.offset, intent.length});
    saved += PieceBytes(pieces_.back());
  }
  if (pieces_.empty()) return absl::OkStatus();
  UndoRecord record{};
  record.number = number;
  record.pieces = static_cast<uint32_t>(pieces_.size());
  const uint64_t listed = pieces_.size() * sizeof(UndoPiece);
  record.bytes = Padded(sizeof(record) + listed + saved, kUndoAlignment);
  if (record.bytes > region_->size() - end_) {
    return ResourceError(
        Resource::kTransaction,
        absl::StrCat("the transaction writes over more than the undo log "
                     "holds: ",
                     record.bytes, " bytes beside ", bytes_used(), " of ",
                     bytes_total()));
  }
  Store(&record);
  records_.push_back({end_, number});
  seed_ = record.checksum;
  end_ += record.bytes;
  return absl::OkStatus();
}

void UndoLog::Store(UndoRecord* record) {
  const uint64_t listed = pieces_.size() * sizeof(UndoPiece);
  std::byte* const place = region_->base() + end_;
  // Small records are assembled elsewhere, and bypass the cache in one go.
  const bool small = record->bytes <= kMostSmall;
  if (small && small_.size() < record->bytes) small_.resize(kMostSmall);
  std::byte* const at = small ? small_.data() : place;
  std::byte* to = at + sizeof(UndoRecord) + listed;
  record->checksum = ChecksumOf(seed_, *record, pieces_);
  for (const UndoPiece& piece : pieces_) {
    const std::byte* from =
        heap_->region()->base() + piece.object + piece.offset;
    record->checksum =
        FoldHash(record->checksum, Checksum({from, piece.length}));
    if (small) {
      std::memcpy(to, from, piece.length);
    } else {
      region_->CopyFlush(to, from, piece.length);
    }
    to += PieceBytes(piece);
  }
  std::memcpy(at, record, sizeof(*record));
  std::memcpy(at + sizeof(*record), pieces_.data(), listed);
  if (small) {
    region_->CopyFlush(place, at, record->bytes);
  } else {
    region_->Flush(place, sizeof(*record) + listed);
  }
}

void UndoLog::StoreBack(const Record& record) {
  const std::byte* at = region_->base() + record.offset;
  const auto& header = *reinterpret_cast<const UndoRecord*>(at);
  const auto* pieces =
      reinterpret_cast<const UndoPiece*>(at + sizeof(UndoRecord));
  const std::byte* bytes =
      reinterpret_cast<const std::byte*>(pieces + header.pieces);
  Region* const heap = heap_->region();
  for (uint32_t i = 0; i < header.pieces; ++i) {
    const UndoPiece& piece = pieces[i];
    heap->CopyFlush(heap->base() + piece.object + piece.offset, bytes,
                    piece.length);
    bytes += PieceBytes(piece);
  }
}

void UndoLog::RollBack(uint64_t committed) {
  for (auto record = records_.rbegin(); record != records_.rend(); ++record) {
    if (record->number <= committed) return;
    StoreBack(*record);
  }
}

void UndoLog::Reuse() {
  records_.clear();
  end_ = kHeaderBytes;
  seed_ = round();
}

uint64_t& UndoLog::round() const {
  return *reinterpret_cast<uint64_t*>(region_->base() +
                                      undo_copy_format::kUndoRoundOffset);
}

void UndoLog::Forget() {
  Reuse();
  std::byte* first = region_->base() + kHeaderBytes;
  std::memset(first, 0, sizeof(UndoRecord));
  region_->Persist(first, sizeof(UndoRecord));
}

}  // namespace kamino::engine
