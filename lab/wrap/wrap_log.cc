#include "lab/wrap/wrap_log.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/baselines/baseline_transaction.h"
#include "engine/resource_error.h"
#include "glog/logging.h"
#include "lab/explore.h"

namespace kamino::engine {

using wrap_format::kMostRecordBytes;
using wrap_format::Link;
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

// A word of the log's header, which recovery has read.
uint64_t Known(const absl::StatusOr<uint64_t>& word) {
  CHECK(word.ok()) << word.status();
  return *word;
}

// Stores what the records say to the objects' places.
void StoreHome(const WrapLayout& layout, absl::Span<const Wrap> wraps) {
  for (const Wrap& wrap : wraps) {
    const bool whole = ForEachRecord(
        wrap.records, [&](uint64_t address, absl::Span<const std::byte> bytes) {
          layout.region()->CopyFlush(layout.At(address), bytes.data(),
                                     bytes.size());
        });
    CHECK(whole);
  }
}

}  // namespace

WrapLog::WrapLog(const WrapLayout& layout, absl::Duration log_wait)
    : layout_(layout),
      region_(layout.region()),
      writer_(layout),
      log_wait_(log_wait),
      last_sequence_(Known(layout.LastSequence())),
      room_(layout),
      closes_(Known(layout.Retired()), last_sequence_) {}

// --- Room.

std::optional<uint64_t> WrapLog::TryTakeBucket(size_t kept) {
  MutexLock lock(&mutex_);
  return room_.TakeBucket(kept);
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
    last = closes_.handed_over();
  }
  // An earlier one may not be handed over yet; its thread needs nothing of us.
  while (retired() < last) {
    if (Retire(SIZE_MAX) == 0) YieldProcessor();
  }
}

uint64_t WrapLog::given() const {
  MutexLock lock(&mutex_);
  return room_.given();
}

absl::Status WrapLog::Full(uint64_t given) const {
  MutexLock lock(&mutex_);
  if (open_ > 1) {
    return ResourceError(Resource::kLog,
                         absl::StrCat("the log is full of the records of ",
                                      open_, " unfinished transactions"));
  }
  // A smaller transaction would not help where room is on its way, or has come.
  if (closes_.retiring() || room_.releasing() || given != room_.given()) {
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
  wrap->AddPiece(*piece);
  return absl::OkStatus();
}

absl::Status WrapLog::MakeRoom(Wrap* wrap, size_t bytes) {
  while (wrap->free() < bytes) {
    RETURN_IF_ERROR(AddPiece(wrap, bytes - wrap->free()));
  }
  return absl::OkStatus();
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

absl::Status WrapLog::Append(Wrap* wrap, uint64_t address,
                             absl::Span<const std::byte> bytes) {
  RETURN_IF_ERROR(Open(wrap));
  while (!bytes.empty()) {
    const size_t length = std::min<size_t>(bytes.size(), kMostRecordBytes);
    RETURN_IF_ERROR(MakeRoom(wrap, RecordBytes(length)));
    writer_.Append(wrap, address, bytes.first(length));
    address += length;
    bytes.remove_prefix(length);
  }
  return absl::OkStatus();
}

void WrapLog::Drain(Wrap* wrap) {
  writer_.Finish(wrap);
  region_->Drain();
}

void WrapLog::CloseWith(Wrap* wrap, std::optional<uint64_t> commit_sequence) {
  CHECK(wrap->open());
  writer_.Finish(wrap);
  uint64_t durable;
  {
    MutexLock lock(&mutex_);
    closes_.Draw(wrap, commit_sequence);
    durable = closes_.durable();
  }
  writer_.WriteMarker(*wrap, durable);
  region_->Drain();
}

void WrapLog::Close(Wrap* wrap, uint64_t commit_sequence) {
  CloseWith(wrap, commit_sequence);
}

void WrapLog::HandOver(Wrap wrap) {
  MutexLock lock(&mutex_);
  --open_;
  closes_.HandOver(std::move(wrap));
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
    room_.GiveBuckets(*wrap);
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
  wrap->AddPiece({*bucket, layout_.bucket_bytes()});
}

void WrapLog::AppendAnonymous(Wrap* wrap, uint64_t address,
                              absl::Span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (!wrap->open()) OpenAnonymous(wrap);
    const size_t room = wrap->free();
    // Less a word in front, in whole words.
    const size_t fits = room < 2 * sizeof(uint64_t)
                            ? 0
                            : (room / sizeof(uint64_t) - 1) * sizeof(uint64_t);
    const size_t length = std::min({bytes.size(), fits, kMostRecordBytes});
    if (length == 0) {
      CloseAnonymous(wrap);
      continue;
    }
    writer_.Append(wrap, address, bytes.first(length));
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

size_t WrapLog::Retire(size_t most) {
  MutexLock one(&retire_mutex_);
  std::vector<Wrap> wraps;
  {
    MutexLock lock(&mutex_);
    wraps = closes_.TakeDurable(most);
  }
  if (wraps.empty()) return 0;
  StoreHome(layout_, wraps);
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
  closes_.SetRetired(wraps.back().sequence);
  for (const Wrap& wrap : wraps) {
    room_.Give(wrap);
    room_.GiveBlocks(wrap.freed);
  }
  return wraps.size();
}

bool WrapLog::WantsRetire() const {
  MutexLock lock(&mutex_);
  return closes_.size() > layout_.buckets() / kManyPart;
}

void WrapLog::ReleaseFreed(absl::FunctionRef<void(ObjectId)> release) {
  std::vector<ObjectId> freed;
  {
    MutexLock lock(&mutex_);
    freed = room_.BeginRelease();
  }
  if (freed.empty()) return;
  for (ObjectId block : freed) release(block);
  MutexLock lock(&mutex_);
  room_.EndRelease();
}

uint64_t WrapLog::retired() const {
  MutexLock lock(&mutex_);
  return closes_.retired();
}

}  // namespace kamino::engine
