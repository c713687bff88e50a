// What Archapt does beside transactions: the queue, matrices, physical commits.
#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "engine/baselines/archapt/archapt_store.h"

namespace kamino::engine {
namespace {

// Of commits that wait for somebody's drain, which follows soon.
constexpr int kForceTries = 16;
// Of the ring's lines: so many in use are too many.
constexpr uint64_t kFullPart = 8;

}  // namespace

void ArchaptStore::Advance() {
  {
    MutexLock work(&work_mutex_);
    AdvanceTo(0);
  }
  // Others than those who find no room should be the ones to make some.
  if (ring_.lines_taken() < ring_.lines() - ring_.lines() / kFullPart) return;
  uint64_t half = 0;
  {
    MutexLock lock(&mutex_);
    if (!commits_.empty()) half = commits_[commits_.size() / 2]->sequence;
  }
  if (half != 0) Force(half);
}

bool ArchaptStore::WantsAdvance() const {
  {
    MutexLock lock(&arrivals_mutex_);
    if (!arrivals_.empty()) return true;
  }
  MutexLock lock(&mutex_);
  return !new_commits_.empty() ||
         (!commits_.empty() && commits_.front()->outstanding == 0);
}

void ArchaptStore::Force(uint64_t sequence) {
  for (int i = 0; i < kForceTries; ++i) {
    {
      MutexLock work(&work_mutex_);
      AdvanceTo(sequence);
    }
    if (durable_sequence() >= sequence) return;
    YieldProcessor();
  }
}

void ArchaptStore::AdvanceTo(uint64_t force_to) {
  advancing_ = true;
  const Work work = Collect(force_to);
  Carry(work);
  Finish(work);
  CommitPhysically();
  ring_.PublishTail();
  advancing_ = false;
}

// --- What there is to do.

// An object in a matrix costs its own sum, and its part of the row sums and of
// what describes the matrix.
bool ArchaptStore::Gains(const ObjectEntry& entry) const {
  const uint64_t rows = LinesFor(entry.bytes);
  if (SumsBytes(options_.columns, 2 * rows) > kMaxObjectBytes) return false;
  if (!options_.gainful_only) return true;
  const uint64_t lines = CountLines(entry.lines);
  const uint64_t described = 3 + (options_.columns + rows + 7) / 8;
  return lines * options_.columns > options_.columns + rows + described;
}

void ArchaptStore::TakeFlush(ObjectEntry* entry, Work* work) {
  Flush flush;
  flush.id = entry->id;
  flush.bytes = entry->bytes;
  flush.commit = entry->pending;
  history_.TakePending(entry, &flush.lines);
  stats_.flushed_lines += CountLines(flush.lines);
  work->flushes.push_back(std::move(flush));
  history_.Tidy(entry);
}

bool ArchaptStore::MoveQueue(size_t most, Work* work) {
  for (; most > 0; --most) {
    ObjectEntry* const entry = history_.TakeOverflow();
    if (entry == nullptr) return false;
    if (entry->pending == nullptr || entry->state != MatrixState::kNone) {
      history_.Tidy(entry);
    } else if (Gains(*entry)) {
      history_.Wait(entry);
    } else {
      TakeFlush(entry, work);
    }
  }
  return true;
}

bool ArchaptStore::StartSealing(const std::vector<ObjectEntry*>& columns,
                                Work* work) {
  if (free_slots_.empty()) return false;
  uint64_t rows = 0;
  for (const ObjectEntry* column : columns) {
    rows = std::max(rows, LinesFor(column->bytes));
  }
  const auto block =
      heap_->Reserve(static_cast<uint32_t>(SumsBytes(columns.size(), rows)));
  if (!block.ok()) return false;
  auto matrix = absl::make_unique<LiveMatrix>();
  matrix->number = next_matrix_++;
  matrix->slot = free_slots_.back();
  free_slots_.pop_back();
  matrix->block = *block;
  matrix->columns = columns;
  for (ObjectEntry* column : columns) column->matrix = matrix.get();
  work->sealing.push_back(matrix.get());
  matrices_.push_back(std::move(matrix));
  return true;
}

// In pieces: transactions wait for the mutex.
void ArchaptStore::TakeArrivals(Work* work) {
  constexpr size_t kPiece = 8;
  std::vector<Access> arrivals;
  {
    MutexLock lock(&arrivals_mutex_);
    arrivals.swap(arrivals_);
  }
  advances_.fetch_add(1, std::memory_order_relaxed);
  for (size_t begin = 0; begin < arrivals.size(); begin += kPiece) {
    MutexLock lock(&mutex_);
    const size_t end = std::min(begin + kPiece, arrivals.size());
    for (size_t i = begin; i < end; ++i) {
      history_.Touch(arrivals[i].id, arrivals[i].bytes);
    }
  }
  for (bool more = true; more;) {
    MutexLock lock(&mutex_);
    more = MoveQueue(kPiece, work);
  }
}

ArchaptStore::Work ArchaptStore::Collect(uint64_t force_to) {
  Work work;
  TakeArrivals(&work);
  MutexLock lock(&mutex_);
  work.headers.swap(new_commits_);
  for (const auto& commit : commits_) {
    if (commit->sequence > force_to) break;
    for (ObjectId id : commit->objects) {
      ObjectEntry* const entry = history_.Find(id);
      if (entry != nullptr && entry->pending == commit.get()) {
        TakeFlush(entry, &work);
      }
    }
  }
  for (;;) {
    const auto columns = history_.TakeWaiting(options_.columns);
    if (columns.empty()) break;
    if (StartSealing(columns, &work)) continue;
    for (ObjectEntry* column : columns) {
      history_.SetState(column, MatrixState::kNone, nullptr);
      TakeFlush(column, &work);
    }
  }
  return work;
}

// --- Doing it.

void ArchaptStore::Carry(const Work& work) {
  for (const Flush& flush : work.flushes) {
    FlushLines(flush.id, flush.bytes, flush.lines);
  }
  for (const PendingCommit* commit : work.headers) {
    for (ObjectId id : commit->headers) heap_->FlushState(id);
  }
  for (const LiveMatrix* live : work.sealing) {
    Matrix matrix;
    matrix.number = live->number;
    for (const ObjectEntry* column : live->columns) {
      matrix.columns.push_back(
          {column->id, {region_->base() + column->id, column->bytes}});
      matrix.rows = std::max(matrix.rows, LinesFor(column->bytes));
    }
    table_.Write(live->slot, matrix, live->block);
  }
  if (work.flushes.empty() && work.headers.empty() && work.sealing.empty()) {
    return;
  }
  region_->Drain();
  if (work.sealing.empty()) return;
  for (const LiveMatrix* live : work.sealing) {
    table_.Seal(live->slot, live->number);
  }
  region_->Drain();
}

void ArchaptStore::Finish(const Work& work) {
  MutexLock lock(&mutex_);
  for (const Flush& flush : work.flushes) --flush.commit->outstanding;
  for (PendingCommit* commit : work.headers) --commit->outstanding;
  for (LiveMatrix* live : work.sealing) {
    Reached(Branch::kArchaptSeals);
    ++stats_.matrices;
    uint64_t rows = 0;
    for (ObjectEntry* column : live->columns) {
      rows = std::max(rows, LinesFor(column->bytes));
      stats_.skipped_lines += CountLines(column->lines);
      --column->pending->outstanding;
      history_.SetState(column, MatrixState::kSealed, live);
      history_.Skip(column);
    }
    stats_.sums_lines += LinesFor(SumsBytes(live->columns.size(), rows)) + 2 +
                         (live->columns.size() + 7) / 8;
  }
}

void ArchaptStore::ClearLost(absl::Span<const ObjectId> freed) {
  if (!any_lost_) return;
  bool any = false;
  std::vector<size_t> cleared;
  {
    MutexLock lock(&mutex_);
    for (ObjectId id : freed) {
      const auto found = lost_.find(id);
      if (found == lost_.end()) continue;
      const auto [slot, column] = found->second;
      uint64_t& columns = lost_columns_[slot];
      columns &= ~(uint64_t{1} << column);
      table_.SetLost(slot, columns);
      if (columns == 0) {
        lost_columns_.erase(slot);
        cleared.push_back(slot);
      }
      lost_.erase(found);
      any = true;
    }
    any_lost_ = !lost_.empty();
  }
  if (!any) return;
  region_->Drain();
  MutexLock lock(&mutex_);
  free_slots_.insert(free_slots_.end(), cleared.begin(), cleared.end());
}

void ArchaptStore::CommitPhysically() {
  std::vector<std::unique_ptr<PendingCommit>> ready;
  {
    MutexLock lock(&mutex_);
    while (!commits_.empty() && commits_.front()->outstanding == 0) {
      ready.push_back(std::move(commits_.front()));
      commits_.pop_front();
    }
  }
  if (ready.empty()) return;
  std::vector<uint64_t> transactions;
  std::vector<ObjectId> freed;
  for (const auto& commit : ready) {
    transactions.push_back(commit->transaction);
    freed.insert(freed.end(), commit->freed.begin(), commit->freed.end());
  }
  ring_.AppendCommitted(transactions, ready.back()->sequence);
  durable_ = ready.back()->sequence;
  ClearLost(freed);
  for (ObjectId id : freed) heap_->Release(id);
  {
    MutexLock lock(&mutex_);
    waiting_blocks_ -= freed.size();
  }
  absl::MutexLock lock(&waiting_mutex_);
  moved_.SignalAll();
}

}  // namespace kamino::engine
