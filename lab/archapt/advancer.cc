#include "lab/archapt/advancer.h"

#include <utility>
#include <vector>

namespace kamino::engine {
namespace {

// With this many commits waiting, transactions advance by themselves.
constexpr uint64_t kMostCommits = 4096;
// Attempts for commits that wait for another thread's drain, which follows
// soon.
constexpr int kForceTries = 16;
// Parts of the ring: with only one left free, the ring is too full.
constexpr uint64_t kFullPart = 8;

}  // namespace

Advancer::Advancer(const ArchaptOptions& options, ArchaptMedia* media,
                   Backlog* backlog, MatrixKeeper* matrices,
                   DurableProgress* progress)
    : media_(*media),
      backlog_(*backlog),
      matrices_(*matrices),
      progress_(*progress),
      collector_(options, media->heap, backlog, matrices) {}

void Advancer::Advance() {
  {
    MutexLock work(&work_mutex_);
    collector_.Tick();
    AdvanceTo(0);
  }
  // Makes room early, so that transactions seldom find none and have to make
  // some.
  const UndoRing& ring = media_.ring;
  if (ring.lines_taken() < ring.lines() - ring.lines() / kFullPart) return;
  const uint64_t half = Middle();
  if (half != 0) Force(half);
}

bool Advancer::WantsAdvance() const {
  if (collector_.has_news()) return true;
  MutexLock lock(&backlog_.mutex);
  return backlog_.commits.HasReady();
}

void Advancer::AdvanceIfLate() {
  if (backlog_.commits.last() - collector_.queued() < kMostCommits ||
      advancing_) {
    return;
  }
  Advance();
}

uint64_t Advancer::Middle() const {
  MutexLock lock(&backlog_.mutex);
  return backlog_.commits.middle();
}

void Advancer::Force(uint64_t sequence) {
  for (int i = 0; i < kForceTries; ++i) {
    {
      MutexLock work(&work_mutex_);
      AdvanceTo(sequence);
    }
    if (progress_.durable() >= sequence) return;
    YieldProcessor();
  }
}

void Advancer::AdvanceTo(uint64_t force_to) {
  advancing_ = true;
  collector_.Collect(force_to, &work_);
  Carry(work_);
  Finish(work_);
  CommitPhysically();
  media_.ring.PublishTail();
  advancing_ = false;
}

// --- Doing what there is to do.

void Advancer::Carry(const AdvanceWork& work) {
  Region* const region = media_.region;
  for (const AdvanceWork::Flush& flush : work.flushes) {
    FlushLines(region, flush.id, flush.bytes, flush.lines);
  }
  bool headers = false;
  for (const PendingCommit* commit : work.commits) {
    for (ObjectId id : commit->headers) media_.heap->states().Flush(id);
    headers |= !commit->headers.empty();
  }
  for (const LiveMatrix* live : work.sealing) matrices_.Write(*live);
  if (work.flushes.empty() && !headers && work.sealing.empty()) return;
  region->Drain();
  if (work.sealing.empty()) return;
  for (const LiveMatrix* live : work.sealing) matrices_.Seal(*live);
  region->Drain();
}

void Advancer::Finish(const AdvanceWork& work) {
  for (const LiveMatrix* live : work.sealing) matrices_.Finish(*live);
  for (const AdvanceWork::Flush& flush : work.flushes) {
    flush.commit->FlushDone();
  }
  for (PendingCommit* commit : work.commits) commit->FlushDone();
}

// --- Physical commits.

void Advancer::ClearLost(absl::Span<const ObjectId> freed) {
  const auto slots = media_.lost.Forget(freed);
  if (!slots.has_value()) return;
  media_.region->Drain();
  MutexLock lock(&backlog_.mutex);
  backlog_.matrices.AddFreeSlots(*slots);
}

PendingCommits Advancer::TakeReady() {
  PendingCommits ready;
  for (bool more = true; more;) {
    MutexLock lock(&backlog_.mutex);
    more = backlog_.commits.TakeReady(kCommitsAtATime, &ready);
  }
  return ready;
}

void Advancer::CommitPhysically() {
  PendingCommits ready = TakeReady();
  if (ready.empty()) return;
  std::vector<uint64_t> transactions;
  std::vector<ObjectId> freed;
  for (const auto& commit : ready) {
    transactions.push_back(commit->transaction);
    freed.insert(freed.end(), commit->freed.begin(), commit->freed.end());
  }
  media_.ring.AppendCommitted(transactions, ready.back()->sequence);
  progress_.SetDurable(ready.back()->sequence);
  ClearLost(freed);
  for (ObjectId id : freed) media_.heap->Release(id);
  {
    MutexLock lock(&backlog_.mutex);
    backlog_.commits.Recycle(std::move(ready));
  }
  progress_.Announce();
}

}  // namespace kamino::engine
