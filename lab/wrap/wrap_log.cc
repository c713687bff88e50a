#include "lab/wrap/wrap_log.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using wrap_format::kLineBytes;
using wrap_format::kMostRecordBytes;
using wrap_format::Link;
using wrap_format::Marker;
using wrap_format::RecordBytes;

namespace {

// Buckets kept for stores outside of transactions.
constexpr size_t kKeptBuckets = 1;
// Most wraps have no more.
constexpr size_t kUsualRecordBytes = 512;
// A wrap that has a bucket takes no more of the last ones.
constexpr size_t kKeptPart = 8;
// More than this part of the buckets is many.
constexpr size_t kManyPart = 8;

// Room for records in a piece.
size_t CapacityOf(const LogPiece& piece, bool first) {
  return piece.bytes - (first ? sizeof(Marker) : 0) - sizeof(Link);
}

}  // namespace

WrapLog::WrapLog(const WrapLayout& layout, absl::Duration log_wait)
    : layout_(layout), region_(layout.region()), log_wait_(log_wait) {
  const auto retired = layout.Retired();
  CHECK(retired.ok()) << retired.status();
  const auto last_sequence = layout.LastSequence();
  CHECK(last_sequence.ok()) << last_sequence.status();
  MutexLock one(&retire_mutex_);
  MutexLock lock(&mutex_);
  // The first one is taken first.
  for (size_t i = layout.buckets(); i > 0; --i) {
    free_.push_back(layout.BucketAt(i - 1));
  }
  durable_ = handed_over_ = retired_ = *retired;
  first_ = retired_ + 1;
  last_commit_ = last_sequence_ = *last_sequence;
}

// --- Room.

std::optional<uint64_t> WrapLog::TryTakeBucket(size_t kept) {
  MutexLock lock(&mutex_);
  if (free_.size() <= kept) return std::nullopt;
  const uint64_t bucket = free_.back();
  free_.pop_back();
  return bucket;
}

std::optional<LogPiece> WrapLog::TryTakeBlock(size_t records) {
  if (heap_ == nullptr) return std::nullopt;
  ReleaseFreed([this](ObjectId block) { heap_->Release(block); });
  const uint64_t bytes = std::min<uint64_t>(
      std::max(records + sizeof(Link), size_t{layout_.bucket_bytes()}),
      kMaxObjectBytes);
  const auto block = heap_->Reserve(static_cast<uint32_t>(bytes));
  if (!block.ok()) return std::nullopt;
  // The block's contents go to the medium now, after all wraps that are on
  // their way home: none of them may store there any more. (Headers of blocks
  // that were there before may still come.)
  RetireAllClosed();
  return LogPiece{*block, heap_->BlockPayload(*block).size(), *block};
}

void WrapLog::RetireAllClosed() {
  uint64_t last;
  {
    MutexLock lock(&mutex_);
    last = handed_over_;
  }
  // An earlier one may not be handed over yet; its thread needs nothing of us.
  while (retired() < last) {
    if (Retire(SIZE_MAX) == 0) YieldProcessor();
  }
}

uint64_t WrapLog::given() const {
  MutexLock lock(&mutex_);
  return given_;
}

absl::Status WrapLog::Full(uint64_t given) const {
  MutexLock lock(&mutex_);
  if (open_ > 1) {
    return ResourceError(Resource::kLog,
                         absl::StrCat("the log is full of the records of ",
                                      open_, " unfinished transactions"));
  }
  // A smaller transaction would not help where room is on its way, or has come.
  const bool retiring = retired_ + 1 != first_ + queue_.size();
  if (retiring || !freed_.empty() || releasing_ > 0 || given != given_) {
    return ResourceError(Resource::kLog,
                         "the log is full of what is about to be home");
  }
  return ResourceError(Resource::kTransaction,
                       "no space in log and heap for the transaction's "
                       "records; make it smaller, or the heap larger");
}

absl::Status WrapLog::AddPiece(Wrap* wrap, size_t bytes) {
  const bool first = wrap->pieces.empty();
  const size_t kept =
      kKeptBuckets + (first ? 0 : layout_.buckets() / kKeptPart);
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> deadline;
  std::optional<LogPiece> piece;
  while (!piece.has_value()) {
    const uint64_t given_before = given();
    auto bucket = TryTakeBucket(kept);
    if (!bucket.has_value()) {
      if (Retire(SIZE_MAX) > 0) Reached(LabBranch::kWrapRetiresForRoom);
      // Or others have retired all there was, while this one waited to. What
      // retires may be others' again at once, for ever: once is enough.
      bucket = TryTakeBucket(kept);
    }
    if (bucket.has_value()) {
      piece = LogPiece{*bucket, layout_.bucket_bytes()};
      if (!first) Reached(LabBranch::kWrapGoesOnInLog);
      break;
    }
    if (!first) piece = TryTakeBlock(bytes);
    if (piece.has_value()) {
      Reached(LabBranch::kWrapGoesOnInHeap);
      break;
    }
    if (!deadline.has_value()) {
      deadline = Clock::now() + absl::ToChronoNanoseconds(std::min(
                                    log_wait_, BaselineTransaction::kForEver));
    }
    absl::Status full = Full(given_before);
    if (ResourceOf(full) != Resource::kLog || Clock::now() >= *deadline) {
      Reached(LabBranch::kWrapLogFull);
      return full;
    }
    YieldProcessor();
  }
  wrap->room += CapacityOf(*piece, first);
  wrap->pieces.push_back(*piece);
  return absl::OkStatus();
}

absl::Status WrapLog::MakeRoom(Wrap* wrap, size_t bytes) {
  while (wrap->room - wrap->records.size() < bytes) {
    RETURN_IF_ERROR(
        AddPiece(wrap, bytes - (wrap->room - wrap->records.size())));
  }
  return absl::OkStatus();
}

void WrapLog::Give(const Wrap& wrap) {
  ++given_;
  for (const LogPiece& piece : wrap.pieces) {
    if (piece.block != kNullObject) {
      freed_.push_back(piece.block);
    } else {
      free_.push_back(piece.offset);
    }
  }
}

// --- Writing.

absl::Status WrapLog::Open(Wrap* wrap) {
  if (wrap->open()) return absl::OkStatus();
  {
    MutexLock lock(&mutex_);
    ++open_;
  }
  wrap->records.reserve(kUsualRecordBytes);
  absl::Status opened = AddPiece(wrap, 0);
  if (!opened.ok()) {
    MutexLock lock(&mutex_);
    --open_;
  }
  return opened;
}

void WrapLog::Put(Wrap* wrap, uint64_t address,
                  absl::Span<const std::byte> bytes) {
  const uint64_t word = wrap_format::MakeRecordWord(address, bytes.size());
  std::vector<std::byte>& records = wrap->records;
  const size_t at = records.size();
  // Records are padded to whole words with 0.
  records.resize(at + RecordBytes(bytes.size()));
  std::memcpy(records.data() + at, &word, sizeof(word));
  std::memcpy(records.data() + at + sizeof(word), bytes.data(), bytes.size());
}

absl::Status WrapLog::Append(Wrap* wrap, uint64_t address,
                             absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(Open(wrap));
  while (!bytes.empty()) {
    const size_t length = std::min<size_t>(bytes.size(), kMostRecordBytes);
    RETURN_IF_ERROR(MakeRoom(wrap, RecordBytes(length)));
    Put(wrap, address, bytes.first(length));
    WriteLines(wrap, /*all=*/false);
    address += length;
    bytes.remove_prefix(length);
  }
  return absl::OkStatus();
}

void WrapLog::WriteLines(Wrap* wrap, bool all) {
  while (wrap->written < wrap->records.size()) {
    const LogPiece& piece = wrap->pieces[wrap->piece];
    const bool first = wrap->piece == 0;
    const uint64_t begin = piece.offset + (first ? sizeof(Marker) : 0);
    const size_t capacity = CapacityOf(piece, first);
    const size_t end =
        std::min(wrap->records.size(), wrap->piece_begin + capacity);
    const bool fills = end == wrap->piece_begin + capacity;
    size_t length = end - wrap->written;
    if (!all && !fills) {
      // `begin` is a line's, and so is what is written up to.
      length = length / kLineBytes * kLineBytes;
      if (length == 0) return;
    }
    if (length > 0) {
      region_->CopyFlush(layout_.At(begin + wrap->written - wrap->piece_begin),
                         wrap->records.data() + wrap->written, length);
    }
    wrap->written += length;
    if (!fills || wrap->piece + 1 == wrap->pieces.size()) continue;
    const LogPiece& next = wrap->pieces[++wrap->piece];
    wrap->piece_begin += capacity;
    const Link link{next.offset, next.bytes};
    region_->CopyFlush(layout_.At(piece.offset + piece.bytes - sizeof(link)),
                       &link, sizeof(link));
  }
}

void WrapLog::Drain(Wrap* wrap) {
  WriteLines(wrap, /*all=*/true);
  region_->Drain();
}

void WrapLog::CloseWith(Wrap* wrap, std::optional<uint64_t> commit_sequence) {
  CHECK(wrap->open());
  WriteLines(wrap, /*all=*/true);
  Marker marker{};
  {
    MutexLock lock(&mutex_);
    wrap->sequence = first_ + queue_.size();
    queue_.emplace_back();
    if (commit_sequence.has_value()) {
      wrap->commit_sequence =
          *commit_sequence != 0
              ? *commit_sequence
              : std::min(last_commit_ + 1, wrap_format::kSequenceMask);
      last_commit_ = std::max(last_commit_, wrap->commit_sequence);
    }
    marker.durable = durable_;
  }
  marker.sequence = wrap->sequence;
  marker.commit_sequence = wrap->commit_sequence;
  marker.bytes = wrap->records.size();
  const uint64_t offset = wrap->pieces.front().offset;
  marker.own_check = layout_.OwnCheckOf(marker, offset);
  marker.check = layout_.CheckOf(marker, offset, wrap->records);
  region_->CopyFlush(layout_.At(offset), &marker, sizeof(marker));
  region_->Drain();
}

void WrapLog::Close(Wrap* wrap, uint64_t commit_sequence) {
  CloseWith(wrap, commit_sequence);
}

void WrapLog::HandOver(Wrap wrap) {
  MutexLock lock(&mutex_);
  const uint64_t sequence = wrap.sequence;
  --open_;
  handed_over_ = std::max(handed_over_, sequence);
  queue_[sequence - first_] = std::move(wrap);
  if (sequence != durable_ + 1) {
    Reached(LabBranch::kWrapOvertakes);
    return;
  }
  while (durable_ + 1 - first_ < queue_.size() &&
         queue_[durable_ + 1 - first_].sequence != 0) {
    ++durable_;
  }
}

void WrapLog::Forget(Wrap* wrap) {
  if (!wrap->open()) return;
  // Blocks are released first: when the wrap is no longer open, all it had is
  // free.
  for (const LogPiece& piece : wrap->pieces) {
    if (piece.block != kNullObject) heap_->Release(piece.block);
  }
  {
    MutexLock lock(&mutex_);
    --open_;
    ++given_;
    for (const LogPiece& piece : wrap->pieces) {
      if (piece.block == kNullObject) free_.push_back(piece.offset);
    }
  }
  *wrap = Wrap();
}

// --- Outside of transactions.

void WrapLog::OpenAnonymous(Wrap* wrap) {
  std::optional<uint64_t> bucket = TryTakeBucket(/*kept=*/0);
  // Closed ones have the last: they come to retire.
  for (; !bucket.has_value(); bucket = TryTakeBucket(/*kept=*/0)) {
    if (Retire(SIZE_MAX) > 0) {
      Reached(LabBranch::kWrapRetiresForRoom);
    } else {
      YieldProcessor();
    }
  }
  {
    MutexLock lock(&mutex_);
    ++open_;
  }
  wrap->pieces.push_back({*bucket, layout_.bucket_bytes()});
  wrap->room = CapacityOf(wrap->pieces.front(), /*first=*/true);
}

void WrapLog::AppendAnonymous(Wrap* wrap, uint64_t address,
                              absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (!wrap->open()) OpenAnonymous(wrap);
    const size_t room = wrap->room - wrap->records.size();
    // Less a word in front, in whole words.
    const size_t fits = room < 2 * sizeof(uint64_t)
                            ? 0
                            : (room / sizeof(uint64_t) - 1) * sizeof(uint64_t);
    const size_t length = std::min({bytes.size(), fits, kMostRecordBytes});
    if (length == 0) {
      CloseAnonymous(wrap);
      continue;
    }
    Put(wrap, address, bytes.first(length));
    WriteLines(wrap, /*all=*/false);
    address += length;
    bytes.remove_prefix(length);
  }
}

void WrapLog::CloseAnonymous(Wrap* wrap) {
  CloseWith(wrap, std::nullopt);
  HandOver(std::move(*wrap));
  *wrap = Wrap();
}

// --- Retirement.

void WrapLog::StoreHome(const std::vector<Wrap>& wraps) {
  for (const Wrap& wrap : wraps) {
    const bool whole = ForEachRecord(
        wrap.records,
        [this](uint64_t address, absl::Span<const std::byte> bytes) {
          region_->CopyFlush(layout_.At(address), bytes.data(), bytes.size());
        });
    CHECK(whole);
  }
}

size_t WrapLog::Retire(size_t most) {
  MutexLock one(&retire_mutex_);
  std::vector<Wrap> wraps;
  {
    MutexLock lock(&mutex_);
    for (; wraps.size() < most && first_ <= durable_; ++first_) {
      wraps.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
  }
  if (wraps.empty()) return 0;
  StoreHome(wraps);
  wrap_format::LogHeader* const header = layout_.header();
  uint64_t largest = last_sequence_;
  for (const Wrap& wrap : wraps) {
    largest = std::max(largest, wrap.commit_sequence);
  }
  // The sequence must be stored before the markers with it may go.
  if (largest != last_sequence_) {
    layout_.StoreLastSequence(last_sequence_ = largest);
    region_->Flush(&header->last_sequence, sizeof(header->last_sequence));
  }
  region_->Drain();
  layout_.StoreRetired(wraps.back().sequence);
  region_->Persist(&header->retired, sizeof(header->retired));
  MutexLock lock(&mutex_);
  retired_ = wraps.back().sequence;
  for (const Wrap& wrap : wraps) {
    Give(wrap);
    freed_.insert(freed_.end(), wrap.freed.begin(), wrap.freed.end());
  }
  return wraps.size();
}

bool WrapLog::WantsRetire() const {
  MutexLock lock(&mutex_);
  return queue_.size() > layout_.buckets() / kManyPart;
}

void WrapLog::ReleaseFreed(absl::FunctionRef<void(ObjectId)> release) {
  std::vector<ObjectId> freed;
  {
    MutexLock lock(&mutex_);
    if (freed_.empty()) return;
    freed = std::exchange(freed_, {});
    ++releasing_;
  }
  for (ObjectId block : freed) release(block);
  MutexLock lock(&mutex_);
  --releasing_;
  ++given_;
}

uint64_t WrapLog::retired() const {
  MutexLock lock(&mutex_);
  return retired_;
}

}  // namespace kamino::engine
