#include "engine/baselines/archapt/archapt_store.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "engine/baselines/archapt/archapt_transaction.h"
#include "glog/logging.h"

namespace kamino::engine {

using archapt_format::kLineBytes;
using archapt_format::kMostColumns;

namespace {

// Transactions advance by themselves when so much waits for somebody else to.
constexpr size_t kMostArrivals = 8192;
// Of which a ring has no more lines than its records can count.
constexpr size_t kMostLogBytes = size_t{1} << 30;
// How often somebody who waits looks whether forcing helps by now.
constexpr absl::Duration kForceAgain = absl::Milliseconds(1);

absl::Status CheckOptions(const ArchaptOptions& options, const Heap& heap) {
  if (options.columns < 2 || options.columns > kMostColumns ||
      options.patience < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Archapt with matrices of ", options.columns,
                     " columns (2 to ", kMostColumns, ") and a patience of ",
                     absl::FormatDuration(options.patience)));
  }
  if (heap.label() != kArchaptName) {
    return absl::FailedPreconditionError(
        absl::StrCat("the heap belongs to \"", heap.label(), "\", not to \"",
                     kArchaptName, "\""));
  }
  return absl::OkStatus();
}

}  // namespace

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
      ring_(region_, layout.ring, layout.seed),
      table_(heap, layout.slots_begin, layout.slots, layout.seed),
      history_(options.queue_bytes) {}

absl::StatusOr<std::unique_ptr<ArchaptStore>> ArchaptStore::Open(
    const ArchaptOptions& options, Heap* heap) {
  RETURN_IF_ERROR(CheckOptions(options, *heap));
  ASSIGN_OR_RETURN(const ArchaptLayout layout, LayoutOf(*heap));
  auto store = absl::WrapUnique(new ArchaptStore(options, heap, layout));
  ASSIGN_OR_RETURN(ArchaptRecovery recovery,
                   RecoverArchapt(heap, &store->ring_, &store->table_));
  RETURN_IF_ERROR(heap->Load());
  MutexLock lock(&store->mutex_);
  for (const ArchaptRecovery::Lost& lost : recovery.lost) {
    store->lost_[lost.id] = {lost.slot, lost.column};
    store->lost_columns_[lost.slot] |= uint64_t{1} << lost.column;
  }
  store->any_lost_ = !recovery.lost.empty();
  for (size_t slot = layout.slots; slot > 0; --slot) {
    if (!store->lost_columns_.contains(slot - 1)) {
      store->free_slots_.push_back(slot - 1);
    }
  }
  store->report_ = std::move(recovery.report);
  store->last_sequence_ = store->durable_ = store->report_.last_sequence;
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

void ArchaptStore::BeforeWrite(ObjectId id, Unsettled* unsettled) {
  if (!history_.MayBeMarked(id)) return;
  for (;;) {
    LiveMatrix* dissolve = nullptr;
    LineRanges lines;
    uint32_t bytes = 0;
    {
      MutexLock lock(&mutex_);
      ObjectEntry* const entry = history_.Find(id);
      if (entry == nullptr || !entry->marked()) return;
      if (entry->state == MatrixState::kNone ||
          entry->state == MatrixState::kWaiting) {
        unsettled->taken.push_back(entry->pending);
        history_.TakePending(entry, &lines);
        bytes = entry->bytes;
        stats_.flushed_lines += CountLines(lines);
        history_.Tidy(entry);
      } else if (entry->state == MatrixState::kSealed &&
                 !entry->matrix->dissolving) {
        dissolve = entry->matrix;
        dissolve->dissolving = true;
      }
    }
    if (bytes != 0) {
      FlushLines(id, bytes, lines);
      return;
    }
    if (dissolve != nullptr) {
      Dissolve(dissolve);
      return;
    }
    // Somebody is about to seal or to dissolve it, and waits for no lock.
    Reached(Branch::kArchaptMeetsOthersWork);
    YieldProcessor();
  }
}

void ArchaptStore::BeforeRead(ObjectId id, Unsettled* unsettled) {
  if (!history_.MayBePending(id)) return;
  const auto flushed =
      std::find_if(unsettled->flushed.begin(), unsettled->flushed.end(),
                   [id](const auto& one) { return one.first == id; });
  if (flushed != unsettled->flushed.end()) return;
  LineRanges lines;
  uint32_t bytes;
  {
    MutexLock lock(&mutex_);
    const ObjectEntry* const entry = history_.Find(id);
    // What has left the queue is evicted, as far as one knows.
    if (entry == nullptr || entry->pending == nullptr || !entry->queued ||
        entry->state != MatrixState::kNone) {
      return;
    }
    lines = entry->lines;
    bytes = entry->bytes;
    unsettled->flushed.push_back({id, entry->pending->sequence});
    stats_.flushed_lines += CountLines(lines);
  }
  // It stays pending until it is durable: somebody may be forced to be sooner.
  FlushLines(id, bytes, lines);
}

void ArchaptStore::Settle(Unsettled* unsettled) {
  if (unsettled->empty()) return;
  MutexLock lock(&mutex_);
  for (PendingCommit* commit : unsettled->taken) --commit->outstanding;
  for (const auto& [id, sequence] : unsettled->flushed) {
    ObjectEntry* const entry = history_.Find(id);
    if (entry == nullptr || entry->pending == nullptr ||
        entry->pending->sequence != sequence ||
        entry->state == MatrixState::kSealing) {
      continue;
    }
    --entry->pending->outstanding;
    LineRanges lines;
    history_.TakePending(entry, &lines);
    history_.Tidy(entry);
  }
  unsettled->taken.clear();
  unsettled->flushed.clear();
}

bool ArchaptStore::IsLost(ObjectId id) const {
  if (!any_lost_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(&mutex_);
  return lost_.contains(id);
}

uint64_t ArchaptStore::CommitLogically(LogicalCommit logical) {
  auto commit = absl::make_unique<PendingCommit>();
  commit->transaction = logical.transaction;
  commit->headers = std::move(logical.headers);
  commit->freed = std::move(logical.freed);
  MutexLock lock(&mutex_);
  commit->sequence = last_sequence_.load() + 1;
  for (ObjectId id : commit->freed) history_.Forget(id);
  for (LogicalCommit::Object& object : logical.objects) {
    if (object.lines.empty()) continue;
    commit->objects.push_back(object.id);
    history_.SetPending(object.id, object.bytes, commit.get(),
                        std::move(object.lines));
  }
  commit->outstanding = commit->objects.size();
  if (!commit->headers.empty()) {
    ++commit->outstanding;
    new_commits_.push_back(commit.get());
  }
  waiting_blocks_ += commit->freed.size();
  last_sequence_ = commit->sequence;
  commits_.push_back(std::move(commit));
  return last_sequence_;
}

bool ArchaptStore::IsNews(ObjectId id) {
  std::atomic<uint64_t>& last =
      handed_over_[(id >> 6) * 0x9e3779b97f4a7c15ull >> kHandedOverShift];
  const uint64_t now =
      id << 8 | (advances_.load(std::memory_order_relaxed) & 0xff);
  if (last.load(std::memory_order_relaxed) == now) return false;
  last.store(now, std::memory_order_relaxed);
  return true;
}

void ArchaptStore::HandOver(absl::Span<const Access> accesses) {
  size_t arrived;
  {
    MutexLock lock(&arrivals_mutex_);
    // Somebody is late with moving them: what is accessed now is not worth
    // waiting for. It is an estimate.
    if (arrivals_.size() >= kMostArrivals && advancing_.load()) return;
    arrivals_.insert(arrivals_.end(), accesses.begin(), accesses.end());
    arrived = arrivals_.size();
  }
  if (arrived >= kMostArrivals) Advance();
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
      Reached(Branch::kArchaptForcesForRoom);
      Force(half);
      return true;
    case 2:
      Force(last_sequence_);
      return true;
    default:
      return false;
  }
}

void ArchaptStore::FreeBlocks() {
  Force(last_sequence_);
  DissolveAll();
}

// --- Matrices that are given up.

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
    Reached(Branch::kArchaptDissolves);
    for (ObjectEntry* column : matrix->columns) {
      stats_.flushed_lines += CountLines(column->lines);
      stats_.skipped_lines -= CountLines(column->lines);
      column->lines.clear();
      history_.SetState(column, MatrixState::kNone, nullptr);
      history_.Tidy(column);
    }
    block = matrix->block;
    free_slots_.push_back(matrix->slot);
    const auto found =
        std::find_if(matrices_.begin(), matrices_.end(),
                     [matrix](const auto& one) { return one.get() == matrix; });
    std::swap(*found, matrices_.back());
    matrices_.pop_back();
  }
  heap_->Release(block);
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
        next->dissolving = true;
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

bool ArchaptStore::AwaitDurable(uint64_t sequence, absl::Duration wait) {
  if (durable_sequence() >= sequence) return true;
  const absl::Time begin = MonotonicNow();
  const auto await_for = [&](absl::Duration length) {
    const absl::Time until = MonotonicNow() + length;
    absl::MutexLock lock(&waiting_mutex_);
    while (durable_sequence() < sequence) {
      const absl::Duration left = until - MonotonicNow();
      if (left <= absl::ZeroDuration()) return false;
      moved_.WaitWithTimeout(&waiting_mutex_, left);
    }
    return true;
  };
  if (await_for(std::min(wait, options_.patience))) return true;
  for (;;) {
    Force(std::min(sequence, last_sequence()));
    if (durable_sequence() >= sequence) return true;
    // Somebody has begun a flush that it has not drained yet, or the
    // transaction is not committed at all.
    const absl::Duration left = begin + wait - MonotonicNow();
    if (left <= absl::ZeroDuration()) return false;
    if (await_for(std::min(left, kForceAgain))) return true;
  }
}

}  // namespace kamino::engine
