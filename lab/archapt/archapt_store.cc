#include "lab/archapt/archapt_store.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "lab/archapt/archapt_transaction.h"
#include "lab/explore.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using archapt_format::kMostColumns;

namespace {

// With this many commits waiting, transactions advance by themselves.
constexpr uint64_t kMostCommits = 4096;
// A ring has no more lines than its records can count.
constexpr size_t kMostLogBytes = size_t{1} << 30;
// Interval at which a waiting thread checks whether forcing helps by now.
constexpr absl::Duration kForceAgain = absl::Milliseconds(1);

absl::Status CheckOptions(const ArchaptOptions& options, const Heap& heap) {
  if (options.columns < 2 || options.columns > kMostColumns ||
      options.patience < absl::ZeroDuration() ||
      options.log_wait < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Archapt with matrices of ", options.columns, " columns (2 to ",
        kMostColumns, "), a patience of ",
        absl::FormatDuration(options.patience), " and a log_wait of ",
        absl::FormatDuration(options.log_wait), "; neither may be negative"));
  }
  const absl::string_view label = ArchaptLabel(options);
  if (heap.label() != label) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the heap belongs to \"", heap.label(), "\", not to \"", label, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view ArchaptLabel(const ArchaptOptions& options) {
  return options.unchecked ? "archapt-unchecked" : kArchaptName;
}

size_t ArchaptLogBytes(const ArchaptOptions& options, size_t region_bytes) {
  constexpr size_t kPage = 4096;
  const size_t wanted =
      2 * std::min<uint64_t>(options.queue_bytes, kMostLogBytes / 2);
  return std::max(heap_format::kMinLogBytes,
                  std::min<size_t>(wanted, region_bytes / 4) / kPage * kPage);
}

ArchaptStore::ArchaptStore(const ArchaptOptions& options, Heap* heap,
                           const ArchaptLayout& layout)
    : options_(options),
      heap_(heap),
      region_(heap->region()),
      ring_(region_, layout.ring, layout.seed, !options.unchecked),
      table_(heap, layout.slots_begin, layout.slots, layout.seed,
             !options.unchecked),
      lost_(&table_),
      queue_(options.queue_bytes),
      pending_(options.queue_bytes) {}

absl::StatusOr<std::unique_ptr<ArchaptStore>> ArchaptStore::Open(
    const ArchaptOptions& options, Heap* heap) {
  RETURN_IF_ERROR(CheckOptions(options, *heap));
  ASSIGN_OR_RETURN(const ArchaptLayout layout, LayoutOf(*heap));
  auto store = absl::WrapUnique(new ArchaptStore(options, heap, layout));
  ASSIGN_OR_RETURN(ArchaptRecovery recovery,
                   RecoverArchapt(heap, &store->ring_, &store->table_));
  RETURN_IF_ERROR(heap->Load());
  for (const auto& lost : recovery.lost) store->lost_.Add(lost);
  MutexLock lock(&store->mutex_);
  for (size_t slot = layout.slots; slot > 0; --slot) {
    if (!store->lost_.IsSaidBy(slot - 1)) {
      store->free_slots_.push_back(slot - 1);
    }
  }
  store->report_ = std::move(recovery.report);
  store->given_before_ = recovery.given;
  store->last_sequence_ = store->report_.last_sequence;
  store->durable_ = store->queued_ = store->report_.last_sequence;
  return store;
}

// The next opening has nothing to verify.
ArchaptStore::~ArchaptStore() { Quiesce(); }

std::unique_ptr<Transaction> ArchaptStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<ArchaptTransaction>(this, lock_wait);
}

uint64_t ArchaptStore::bytes_used() const {
  return heap_->stats().bytes_used + heap_->log_area().size();
}

ArchaptStats ArchaptStore::stats() const {
  MutexLock lock(&mutex_);
  return stats_;
}

size_t ArchaptStore::kept_blocks() const {
  MutexLock lock(&mutex_);
  return matrices_.size() + waiting_blocks_;
}

// --- Of transactions.

void ArchaptStore::FlushLines(ObjectId id, uint32_t bytes,
                              const LineRanges& lines) {
  for (const LineRange& range : lines) {
    const size_t begin = range.first * kLineBytes;
    const size_t end = std::min<size_t>(range.end * kLineBytes, bytes);
    region_->Flush(region_->base() + id + begin, end - begin);
  }
}

void ArchaptStore::BeforeWrite(ObjectId id, const LineRange& logged,
                               Unsettled* unsettled) {
  if (!pending_.MayHave(id)) return;
  for (;;) {
    LiveMatrix* dissolve = nullptr;
    SplitLines lines;
    uint32_t bytes = 0;
    {
      MutexLock lock(&mutex_);
      ObjectEntry* const entry = pending_.Find(id);
      if (entry == nullptr) return;
      if (entry->state == MatrixState::kNone ||
          entry->state == MatrixState::kWaiting) {
        unsettled->taken.push_back(entry->pending);
        bytes = entry->bytes;
        lines = Split(pending_.TakePending(entry), logged);
        stats_.flushed_lines += CountLines(lines.rest);
        stats_.replaced_lines += CountLines(lines.within);
      } else if (entry->state == MatrixState::kSealed &&
                 !entry->matrix->dissolving) {
        dissolve = entry->matrix;
        StartDissolving(dissolve);
      }
    }
    if (bytes != 0) {
      FlushLines(id, bytes, lines.rest);
      if (!lines.within.empty()) {
        unsettled->owed.push_back({id, bytes, std::move(lines.within)});
      }
      return;
    }
    if (dissolve != nullptr) {
      Dissolve(dissolve);
      return;
    }
    // Another thread is about to seal or to dissolve it, and waits for no lock.
    Reached(LabBranch::kArchaptMeetsOthersWork);
    YieldProcessor();
  }
}

void ArchaptStore::Settle(Unsettled* unsettled) {
  CHECK(unsettled->owed.empty());
  for (PendingCommit* commit : unsettled->taken) {
    commit->outstanding.fetch_sub(1, std::memory_order_release);
  }
  unsettled->taken.clear();
}

uint64_t ArchaptStore::CommitLogically(LogicalCommit logical) {
  MutexLock lock(&mutex_);
  if (spare_commits_.empty()) {
    spare_commits_.push_back(absl::make_unique<PendingCommit>());
  }
  std::unique_ptr<PendingCommit> commit = std::move(spare_commits_.back());
  spare_commits_.pop_back();
  // The next one's; another thread had it last.
  if (!spare_commits_.empty()) {
    __builtin_prefetch(spare_commits_.back().get(), 1);
  }
  commit->sequence = std::max(last_sequence_.load(), given_before_) + 1;
  commit->transaction = logical.transaction;
  commit->headers = std::move(logical.headers);
  commit->freed = std::move(logical.freed);
  commit->objects.clear();
  for (LogicalCommit::Object& one : logical.objects) {
    if (one.lines.empty()) continue;
    commit->objects.push_back(one.object);
    pending_.SetPending(one.object, commit.get(), std::move(one.lines));
  }
  commit->outstanding = commit->objects.size() + 1;
  waiting_blocks_ += commit->freed.size();
  last_sequence_ = commit->sequence;
  commits_.push_back(std::move(commit));
  return last_sequence_;
}

void ArchaptStore::AdvanceIfLate() {
  if (last_sequence() - queued_.load() < kMostCommits || advancing_) return;
  Advance();
}

bool ArchaptStore::MakeRoom(int attempt) {
  uint64_t half = 0;
  {
    MutexLock lock(&mutex_);
    if (!commits_.empty()) half = commits_[commits_.size() / 2]->sequence;
  }
  switch (attempt) {
    case 0:
      Advance();
      return true;
    case 1:
      Reached(LabBranch::kArchaptForcesForRoom);
      Force(half);
      return true;
    case 2:
      Force(last_sequence_);
      return true;
    case 3:
      AwaitOthers();
      return true;
    default:
      return false;
  }
}

void ArchaptStore::FreeBlocks() {
  Force(last_sequence_);
  DissolveAll();
  AwaitOthers();
}

bool ArchaptStore::RoomIsComing(uint64_t sequence) const {
  if (durable_sequence() < sequence) return true;
  MutexLock lock(&mutex_);
  return dissolving_ > 0;
}

void ArchaptStore::AwaitOthers() {
  const uint64_t last = last_sequence();
  const absl::Time until = MonotonicNow() + options_.log_wait;
  while (RoomIsComing(last)) {
    const absl::Duration left = until - MonotonicNow();
    if (left <= absl::ZeroDuration()) break;
    Reached(LabBranch::kArchaptAwaitsOthers);
    AwaitMove(std::min(left, kForceAgain), [&] { return !RoomIsComing(last); });
    // A thread that drains a flush neither commits it physically nor signals
    // it.
    if (durable_sequence() < last) Force(last);
  }
  // A pass of others that has made it durable gives room back at its end, so it
  // is waited for.
  MutexLock work(&work_mutex_);
}

// --- Matrices that are given up.

void ArchaptStore::StartDissolving(LiveMatrix* matrix) {
  matrix->dissolving = true;
  ++dissolving_;
}

void ArchaptStore::Dissolve(LiveMatrix* matrix) {
  // Columns and their lines stay: it is marked.
  for (const ObjectEntry* column : matrix->columns) {
    FlushLines(column->id, column->bytes, column->lines);
  }
  region_->Drain();
  table_.Clear(matrix->slot);
  region_->Drain();
  ObjectId block;
  {
    MutexLock lock(&mutex_);
    ++stats_.dissolved;
    Reached(LabBranch::kArchaptDissolves);
    for (ObjectEntry* column : matrix->columns) {
      stats_.flushed_lines += CountLines(column->lines);
      stats_.skipped_lines -= CountLines(column->lines);
      pending_.Unseal(column);
    }
    block = matrix->block;
    free_slots_.push_back(matrix->slot);
    matrices_.back()->place = matrix->place;
    std::swap(matrices_[matrix->place], matrices_.back());
    matrices_.pop_back();
  }
  heap_->Release(block);
  {
    MutexLock lock(&mutex_);
    --dissolving_;
  }
  SayMoved();
}

void ArchaptStore::DissolveAll() {
  for (;;) {
    LiveMatrix* next = nullptr;
    {
      MutexLock lock(&mutex_);
      for (const auto& matrix : matrices_) {
        if (matrix->dissolving ||
            matrix->columns.front()->state != MatrixState::kSealed) {
          continue;
        }
        next = matrix.get();
        StartDissolving(next);
        break;
      }
    }
    if (next == nullptr) return;
    Dissolve(next);
  }
}

// --- Waiting.

void ArchaptStore::Quiesce() {
  Force(last_sequence_);
  DissolveAll();
}

bool ArchaptStore::AwaitMove(absl::Duration length,
                             absl::FunctionRef<bool()> done) {
  const absl::Time until = MonotonicNow() + length;
  MutexLock lock(&waiting_mutex_);
  while (!done()) {
    if (moved_.WaitWithTimeout(&waiting_mutex_, until - MonotonicNow())) {
      return done();
    }
  }
  return true;
}

void ArchaptStore::SayMoved() {
  MutexLock lock(&waiting_mutex_);
  moved_.SignalAll();
}

bool ArchaptStore::AwaitDurable(uint64_t sequence, absl::Duration wait) {
  if (report_.last_sequence < sequence && sequence <= given_before_) {
    return false;
  }
  if (durable_sequence() >= sequence) return true;
  if (wait <= absl::ZeroDuration()) return false;
  const absl::Time begin = MonotonicNow();
  const auto is_durable = [&] { return durable_sequence() >= sequence; };
  if (AwaitMove(std::min(wait, options_.patience), is_durable)) return true;
  const bool patient = wait >= options_.patience;
  for (;;) {
    const uint64_t last = last_sequence();
    Force(patient ? last : std::min(sequence, last));
    if (is_durable()) return true;
    // Another thread has begun a flush that it has not drained yet, or the
    // transaction is not committed at all.
    const absl::Duration left = begin + wait - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    if (AwaitMove(std::min(left, kForceAgain), is_durable)) return true;
  }
}

}  // namespace kamino::engine
