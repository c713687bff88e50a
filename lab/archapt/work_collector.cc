#include "lab/archapt/work_collector.h"

#include <algorithm>
#include <utility>

#include "lab/archapt/matrix.h"

namespace kamino::engine {

WorkCollector::WorkCollector(const ArchaptOptions& options, const Heap* heap,
                             Backlog* backlog, MatrixKeeper* matrices)
    : options_(options),
      heap_(*heap),
      backlog_(*backlog),
      matrices_(*matrices),
      queue_(options.queue_bytes),
      queued_(backlog->commits.last()) {}

void WorkCollector::Collect(uint64_t force_to, AdvanceWork* work) {
  work->flushes.clear();
  work->commits.clear();
  work->sealing.clear();
  TakeAccesses(work);
  TakeForced(force_to, work);
  StartSealings(work);
  FlushOverdue(work);
}

// --- Flushes.

void WorkCollector::TakeFlush(ObjectEntry* entry, AdvanceWork* work) {
  AdvanceWork::Flush flush;
  flush.id = entry->id;
  flush.bytes = entry->bytes;
  flush.commit = entry->pending;
  flush.lines = backlog_.pending.TakePending(entry);
  backlog_.stats.flushed_lines += CountLines(flush.lines);
  work->flushes.push_back(std::move(flush));
}

void WorkCollector::TakeForced(uint64_t force_to, AdvanceWork* work) {
  for (uint64_t next = 0; next <= force_to;) {
    MutexLock lock(&backlog_.mutex);
    const CommitList& commits = backlog_.commits;
    if (commits.empty()) return;
    const uint64_t last = std::min(force_to, commits.last());
    next = std::max(next, commits.first());
    for (size_t i = 0; i < kObjectsAtATime; ++i, ++next) {
      if (next > last) return;
      const PendingCommit* const commit = commits.At(next);
      for (const Access& object : commit->objects) {
        ObjectEntry* const entry = backlog_.pending.Find(object.id);
        if (entry != nullptr && entry->pending == commit) {
          TakeFlush(entry, work);
        }
      }
    }
  }
}

void WorkCollector::FlushOverdue(AdvanceWork* work) {
  if (advances_ < options_.matrix_wait) return;
  for (;;) {
    MutexLock lock(&backlog_.mutex);
    ObjectEntry* const entry =
        backlog_.pending.WaitsSince(advances_ - options_.matrix_wait);
    if (entry == nullptr) return;
    TakeFlush(entry, work);
  }
}

// --- The queue.

void WorkCollector::TakeCommits(AdvanceWork* work) {
  for (bool more = true; more;) {
    MutexLock lock(&backlog_.mutex);
    const CommitList& commits = backlog_.commits;
    for (size_t i = 0; i < kCommitsAtATime && more; ++i) {
      more = queued() < commits.last();
      if (!more) break;
      // The first one need not have the next number.
      const uint64_t next = std::max(queued() + 1, commits.first());
      // They stay until the Advance has counted them.
      work->commits.push_back(commits.At(next));
      queued_ = next;
    }
  }
}

void WorkCollector::TakeAccesses(AdvanceWork* work) {
  TakeCommits(work);
  notes_.Take(&accesses_);
  ids_.clear();
  for (const Access& access : accesses_) {
    queue_.Touch(access);
    if (backlog_.pending.MayHave(access.id)) ids_.push_back(access.id);
  }
  const size_t read = ids_.size();
  for (const PendingCommit* commit : work->commits) {
    for (const Access& object : commit->objects) queue_.Touch(object);
    for (ObjectId id : commit->freed) queue_.Remove(id);
  }
  for (;;) {
    const ObjectId id = queue_.TakeOverflow();
    if (id == kNullObject) break;
    if (backlog_.pending.MayHave(id)) ids_.push_back(id);
  }
  const auto ids = absl::MakeConstSpan(ids_);
  // The cache is taken to have evicted an object that waits outside the queue
  // and is read.
  ForEachPending(ids.first(read),
                 [&](ObjectEntry* entry) { TakeFlush(entry, work); });
  ForEachPending(ids.subspan(read),
                 [&](ObjectEntry* entry) { Leave(entry, work); });
}

void WorkCollector::ForEachPending(
    absl::Span<const ObjectId> ids,
    absl::FunctionRef<void(ObjectEntry* entry)> take) {
  for (size_t begin = 0; begin < ids.size(); begin += kObjectsAtATime) {
    MutexLock lock(&backlog_.mutex);
    for (ObjectId id : ids.subspan(begin, kObjectsAtATime)) {
      ObjectEntry* const entry = backlog_.pending.Find(id);
      if (entry != nullptr && entry->state == MatrixState::kNone) take(entry);
    }
  }
}

void WorkCollector::Leave(ObjectEntry* entry, AdvanceWork* work) {
  // It has been stored to since, and will be in front of the queue.
  if (entry->pending->sequence > queued()) return;
  if (Gains(*entry)) {
    backlog_.pending.Wait(entry, advances_);
  } else {
    TakeFlush(entry, work);
  }
}

// --- Matrices.

// An object in a matrix costs its own sum, and its part of the row sums and of
// what describes the matrix.
bool WorkCollector::Gains(const ObjectEntry& entry) const {
  // Once lost, the root could neither be freed nor replaced.
  if (entry.id == heap_.root()) return false;
  const uint64_t rows = LinesFor(entry.bytes);
  if (SumsBytes(options_.columns, 2 * rows) > kMaxObjectBytes) return false;
  if (!options_.gainful_only) return true;
  const uint64_t lines = CountLines(entry.lines);
  const uint64_t described = 3 + (options_.columns + rows + 7) / 8;
  return lines * options_.columns > options_.columns + rows + described;
}

void WorkCollector::StartSealings(AdvanceWork* work) {
  for (;;) {
    std::vector<ObjectEntry*> columns;
    {
      MutexLock lock(&backlog_.mutex);
      columns = backlog_.pending.TakeWaiting(options_.columns);
    }
    if (columns.empty()) return;
    LiveMatrix* const live = matrices_.Start(columns);
    if (live != nullptr) {
      work->sealing.push_back(live);
      continue;
    }
    MutexLock lock(&backlog_.mutex);
    for (ObjectEntry* column : columns) TakeFlush(column, work);
  }
}

}  // namespace kamino::engine
