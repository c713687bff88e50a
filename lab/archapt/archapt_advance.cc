// Archapt's work beside transactions: the queue, matrices, physical commits.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"
#include "lab/archapt/archapt_store.h"
#include "lab/archapt/matrix.h"
#include "lab/explore.h"

namespace kamino::engine {
namespace {

// Attempts for commits that wait for another thread's drain, which follows
// soon.
constexpr int kForceTries = 16;
// Parts of the ring: with only one left free, the ring is too full.
constexpr uint64_t kFullPart = 8;
// Objects that are looked at before transactions that wait for the mutex get
// it; of commits, which take less, kManyPieces times as many.
constexpr size_t kPiece = 8;
constexpr size_t kManyPieces = 8;

}  // namespace

void ArchaptStore::Advance() {
  {
    MutexLock work(&work_mutex_);
    ++advances_;
    AdvanceTo(0);
  }
  // Makes room early, so that transactions seldom find none and have to make
  // some.
  if (ring_.lines_taken() < ring_.lines() - ring_.lines() / kFullPart) return;
  uint64_t half = 0;
  {
    MutexLock lock(&mutex_);
    if (!commits_.empty()) half = commits_[commits_.size() / 2]->sequence;
  }
  if (half != 0) Force(half);
}

bool ArchaptStore::WantsAdvance() const {
  if (last_sequence() != queued_.load() || !notes_.empty()) return true;
  MutexLock lock(&mutex_);
  return !commits_.empty() && commits_.front()->outstanding.load() == 0;
}

bool ArchaptStore::WorkBeside() {
  if (WantsAdvance()) Advance();
  return false;
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
  Collect(force_to, &work_);
  Carry(work_);
  Finish(work_);
  CommitPhysically();
  ring_.PublishTail();
  advancing_ = false;
}

// --- What there is to do.

// An object in a matrix costs its own sum, and its part of the row sums and of
// what describes the matrix.
bool ArchaptStore::Gains(const ObjectEntry& entry) const {
  // Once lost, the root could neither be freed nor replaced.
  if (entry.id == heap_->root()) return false;
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
  flush.lines = pending_.TakePending(entry);
  stats_.flushed_lines += CountLines(flush.lines);
  work->flushes.push_back(std::move(flush));
}

// Flushes an object that waits outside the queue: the cache is taken to have
// evicted it.
void ArchaptStore::FlushIfPending(ObjectId id, Work* work) {
  ObjectEntry* const entry = pending_.Find(id);
  if (entry != nullptr && entry->state == MatrixState::kNone) {
    TakeFlush(entry, work);
  }
}

void ArchaptStore::Leave(ObjectId id, Work* work) {
  ObjectEntry* const entry = pending_.Find(id);
  if (entry == nullptr || entry->state != MatrixState::kNone) return;
  // It has been stored to since, and will be in front of the queue.
  if (entry->pending->sequence > queued_.load()) return;
  if (Gains(*entry)) {
    pending_.Wait(entry, advances_);
  } else {
    TakeFlush(entry, work);
  }
}

void ArchaptStore::TakeCommits(Work* work) {
  for (bool more = true; more;) {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < kManyPieces * kPiece && more; ++i) {
      more = queued_.load() < last_sequence();
      if (!more) break;
      // The first one need not have the next number.
      const uint64_t next =
          std::max(queued_.load() + 1, commits_.front()->sequence);
      // They stay until Finish has counted them.
      work->commits.push_back(
          commits_[next - commits_.front()->sequence].get());
      queued_ = next;
    }
  }
}

void ArchaptStore::TakeAccesses(Work* work) {
  TakeCommits(work);
  notes_.Take(&accesses_);
  ids_.clear();
  for (const Access& access : accesses_) {
    queue_.Touch(access);
    if (pending_.MayHave(access.id)) ids_.push_back(access.id);
  }
  const size_t read = ids_.size();
  for (const PendingCommit* commit : work->commits) {
    for (const Access& object : commit->objects) queue_.Touch(object);
    for (ObjectId id : commit->freed) queue_.Remove(id);
  }
  for (;;) {
    const ObjectId id = queue_.TakeOverflow();
    if (id == kNullObject) break;
    if (pending_.MayHave(id)) ids_.push_back(id);
  }
  for (size_t begin = 0; begin < ids_.size(); begin += kPiece) {
    MutexLock lock(&mutex_);
    const size_t end = std::min(begin + kPiece, ids_.size());
    for (size_t i = begin; i < end; ++i) {
      if (i < read) {
        FlushIfPending(ids_[i], work);
      } else {
        Leave(ids_[i], work);
      }
    }
  }
}

void ArchaptStore::TakeForced(uint64_t force_to, Work* work) {
  for (uint64_t next = 0; next <= force_to;) {
    MutexLock lock(&mutex_);
    if (commits_.empty()) return;
    const uint64_t first = commits_.front()->sequence;
    const uint64_t last = std::min(force_to, commits_.back()->sequence);
    next = std::max(next, first);
    for (size_t i = 0; i < kPiece; ++i, ++next) {
      if (next > last) return;
      const PendingCommit* const commit = commits_[next - first].get();
      for (const Access& object : commit->objects) {
        ObjectEntry* const entry = pending_.Find(object.id);
        if (entry != nullptr && entry->pending == commit) {
          TakeFlush(entry, work);
        }
      }
    }
  }
}

bool ArchaptStore::StartSealing(const std::vector<ObjectEntry*>& columns,
                                Work* work) {
  uint64_t rows = 0;
  for (const ObjectEntry* column : columns) {
    rows = std::max(rows, LinesFor(column->bytes));
  }
  const auto block =
      heap_->Reserve(static_cast<uint32_t>(SumsBytes(columns.size(), rows)));
  if (!block.ok()) return false;
  auto matrix = absl::make_unique<LiveMatrix>();
  matrix->block = *block;
  matrix->columns = columns;
  {
    MutexLock lock(&mutex_);
    if (!free_slots_.empty()) {
      matrix->number = next_matrix_++;
      matrix->slot = free_slots_.back();
      free_slots_.pop_back();
      for (ObjectEntry* column : columns) column->matrix = matrix.get();
      work->sealing.push_back(matrix.get());
      matrix->place = matrices_.size();
      matrices_.push_back(std::move(matrix));
      return true;
    }
  }
  heap_->Release(*block);
  return false;
}

void ArchaptStore::StartSealings(Work* work) {
  for (;;) {
    std::vector<ObjectEntry*> columns;
    {
      MutexLock lock(&mutex_);
      columns = pending_.TakeWaiting(options_.columns);
    }
    if (columns.empty()) return;
    if (StartSealing(columns, work)) continue;
    MutexLock lock(&mutex_);
    for (ObjectEntry* column : columns) TakeFlush(column, work);
  }
}

void ArchaptStore::FlushOverdue(Work* work) {
  if (advances_ < options_.matrix_wait) return;
  for (;;) {
    MutexLock lock(&mutex_);
    ObjectEntry* const entry =
        pending_.WaitsSince(advances_ - options_.matrix_wait);
    if (entry == nullptr) return;
    TakeFlush(entry, work);
  }
}

void ArchaptStore::Collect(uint64_t force_to, Work* work) {
  work->flushes.clear();
  work->commits.clear();
  work->sealing.clear();
  TakeAccesses(work);
  TakeForced(force_to, work);
  StartSealings(work);
  FlushOverdue(work);
}

// --- Doing it.

void ArchaptStore::Carry(const Work& work) {
  for (const Flush& flush : work.flushes) {
    FlushLines(flush.id, flush.bytes, flush.lines);
  }
  bool headers = false;
  for (const PendingCommit* commit : work.commits) {
    for (ObjectId id : commit->headers) heap_->states().Flush(id);
    headers |= !commit->headers.empty();
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
  if (work.flushes.empty() && !headers && work.sealing.empty()) return;
  region_->Drain();
  if (work.sealing.empty()) return;
  for (const LiveMatrix* live : work.sealing) {
    table_.Seal(live->slot, live->number);
  }
  region_->Drain();
}

void ArchaptStore::Finish(const Work& work) {
  const auto done = [](PendingCommit* commit) {
    commit->outstanding.fetch_sub(1, std::memory_order_release);
  };
  for (LiveMatrix* live : work.sealing) {
    MutexLock lock(&mutex_);
    Reached(LabBranch::kArchaptSeals);
    ++stats_.matrices;
    uint64_t rows = 0;
    for (ObjectEntry* column : live->columns) {
      rows = std::max(rows, LinesFor(column->bytes));
      stats_.skipped_lines += CountLines(column->lines);
      done(column->pending);
      pending_.Seal(column);
    }
    stats_.sums_lines += LinesFor(SumsBytes(live->columns.size(), rows)) + 2 +
                         (live->columns.size() + 7) / 8;
  }
  for (const Flush& flush : work.flushes) done(flush.commit);
  for (PendingCommit* commit : work.commits) done(commit);
}

void ArchaptStore::ClearLost(absl::Span<const ObjectId> freed) {
  const auto slots = lost_.Forget(freed);
  if (!slots.has_value()) return;
  region_->Drain();
  MutexLock lock(&mutex_);
  free_slots_.insert(free_slots_.end(), slots->begin(), slots->end());
}

std::vector<std::unique_ptr<PendingCommit>> ArchaptStore::TakeReady() {
  std::vector<std::unique_ptr<PendingCommit>> ready;
  for (;;) {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < kManyPieces * kPiece; ++i) {
      if (commits_.empty() ||
          commits_.front()->outstanding.load(std::memory_order_acquire) != 0) {
        return ready;
      }
      ready.push_back(std::move(commits_.front()));
      commits_.pop_front();
    }
  }
}

void ArchaptStore::CommitPhysically() {
  std::vector<std::unique_ptr<PendingCommit>> ready = TakeReady();
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
    spare_commits_.insert(spare_commits_.end(),
                          std::make_move_iterator(ready.begin()),
                          std::make_move_iterator(ready.end()));
  }
  SayMoved();
}

}  // namespace kamino::engine
