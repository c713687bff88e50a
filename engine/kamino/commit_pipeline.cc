#include "engine/kamino/commit_pipeline.h"

#include <immintrin.h>

#include <algorithm>

#include "engine/explore.h"

namespace kamino::engine {
namespace {

// How long a wait for a lock sleeps before it checks whether the lock only
// waits for a drain; and how often it checks before it sleeps.
constexpr absl::Duration kLockSlice = absl::Microseconds(100);
constexpr int kLooks = 200;

}  // namespace

// --- For transactions.

bool CommitPipeline::AwaitLock(ObjectId id, absl::Duration wait,
                               absl::FunctionRef<bool(absl::Duration)> take) {
  if (!copy_at_commit_) return wait > absl::ZeroDuration() && take(wait);
  const auto propagate_holders = [this, id] {
    const LockTable::Owner holder = locks_->Holder(id);
    if (holder == 0) return;
    Batch batch;
    lanes_.TakeOf(holder, &batch);
    if (!batch.empty()) Reached(Branch::kPropagatedForLock);
    PropagateBatch(std::move(batch));
  };
  propagate_holders();
  if (take(absl::ZeroDuration())) return true;
  if (wait <= absl::ZeroDuration()) return false;
  for (int i = 0; i < kLooks; ++i) {
    _mm_pause();
    propagate_holders();
    if (take(absl::ZeroDuration())) return true;
  }
  for (; wait > absl::ZeroDuration(); wait -= kLockSlice) {
    if (take(std::min(wait, kLockSlice))) return true;
    PropagateAll();
  }
  return false;
}

CommitLog::Claim CommitPipeline::ClaimRecord(size_t entries) {
  for (;;) {
    if (auto claim = log_->TryClaim(entries); claim.has_value()) return *claim;
    Reached(Branch::kLogFull);
    // The rest belongs to other threads in the middle of a commit.
    if (!PropagateAll()) YieldProcessor();
  }
}

void CommitPipeline::Committed(State state, Turn turn) {
  writer_->MarkBlocks(*state);
  bool done = false;
  if (saver_->saves()) {
    saver_->Committed(*state);
    done = !writer_->Prepare(state.get());
  }
  if (state->held) held_.Expect(state->sequence);
  if (turn.before != nullptr) Propagated(std::move(turn.before));
  // Before another thread can propagate it and the log forget it.
  State propagated = lanes_.Add(std::move(state), turn.taken, done);
  if (propagated != nullptr) Propagated(std::move(propagated));
}

void CommitPipeline::CommittedNothing(State state) {
  Reached(Branch::kCommitOfNothing);
  lanes_.CountEmpty();
  // ExpectWrites may have made copies, though nothing was written.
  writer_->Unpin(*state);
  Unlock(std::move(state));
}

void CommitPipeline::Aborted(State state) {
  if (state->claimed) log_->Done(state->claim);
  if (!state->ranges.empty()) lanes_.CountAborted();
  writer_->Unpin(*state);
  for (TransactionState::Object& object : state->objects) {
    object.freed = object.allocated;  // to be given back
  }
  Unlock(std::move(state));
}

// --- Propagation.

size_t CommitPipeline::PropagateBatch(Batch batch) {
  if (batch.empty()) return 0;
  if (kExplores && !lanes_.IsMine(batch.front()->owner)) {
    Reached(Branch::kPropagatedByOther);
  }
  for (const State& state : batch) writer_->Prepare(state.get());
  for (const State& state : batch) writer_->Copy(*state);
  writer_->Drain(/*undo_copy=*/true, /*heap=*/true);
  for (State& state : batch) Propagated(std::move(state));
  return batch.size();
}

size_t CommitPipeline::PropagateSome(size_t max) {
  Batch batch;
  lanes_.Take(max, &batch);
  return PropagateBatch(std::move(batch));
}

void CommitPipeline::OnDrained() {
  if (!saver_->saves()) return;
  Batch batch;
  lanes_.TakeMine(&batch);
  for (State& state : batch) Propagated(std::move(state));
}

void CommitPipeline::Propagated(State state) {
  log_->Done(state->claim);
  writer_->Finish(*state);
  if (state->held) {
    state = held_.Keep(std::move(state));
    if (state == nullptr) return;  // until ReleaseHold
  }
  Unlock(std::move(state));
}

void CommitPipeline::Unlock(State state) {
  std::vector<ObjectId> unlocked;
  for (const TransactionState::Object& object : state->objects) {
    if (!object.exclusive) continue;
    if (locks_->UnlockExclusive(object.id, state->owner) && listener_) {
      unlocked.push_back(object.id);
    }
    // The next owner of its space finds it unlocked.
    if (object.freed) heap_->Release(object.id);
  }
  TransactionState::Recycle(std::move(state));
  if (!unlocked.empty()) listener_(unlocked);
}

// --- Held locks.

void CommitPipeline::ReleaseHold(uint64_t sequence) {
  State state = held_.Release(sequence);
  if (state != nullptr) Unlock(std::move(state));
}

void CommitPipeline::HoldLocks(uint64_t sequence, const WriteSet& write_set) {
  State state = TransactionState::Take();
  state->owner = CommitLanes::NewOwner();
  state->sequence = sequence;
  for (const Intent& intent : write_set) {
    // A later transaction of the chain with the same object takes the lock
    // over: its existence shows that this one was completed.
    locks_->Seize(intent.object, state->owner);
    TransactionState::Object* object = state->Find(intent.object);
    if (object == nullptr) object = &state->Add(intent.object);
    object->exclusive = true;
    // Not free any more: a later transaction has reused the space.
    object->freed |= intent.kind == IntentKind::kFree &&
                     heap_->ReserveAt(intent.object, intent.length).ok();
  }
  held_.Add(std::move(state));
}

}  // namespace kamino::engine
