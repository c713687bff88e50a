#include "engine/kamino/kamino_store.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "absl/memory/memory.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/kamino/kamino_transaction.h"
#include "engine/kamino/recovery.h"
#include "engine/kamino/undo_log.h"
#include "engine/kamino/words.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// How long a wait for a lock sleeps before it checks whether the lock only
// waits for a drain; and how often it checks before it sleeps.
constexpr absl::Duration kLockSlice = absl::Microseconds(100);
constexpr int kLooks = 200;

// Owners are numbered by thread.
constexpr int kThreadShift = 40;

// A number unique to this thread in the process; not 0.
uint64_t ThisThread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t mine = next.fetch_add(1);
  return mine;
}

// The copies of new objects are not.
bool Pinned(const TransactionState::Object& object) {
  return object.copy != nullptr && !object.allocated;
}

}  // namespace

KaminoStore::KaminoStore(Heap* heap, std::unique_ptr<Backup> backup,
                         const KaminoOptions& options)
    : heap_(heap),
      snapshots_(options.snapshots),
      backup_(std::move(backup)),
      undo_log_(backup_->undo_log()),
      copy_at_commit_(options.copy_at_commit && undo_log_ == nullptr),
      one_drain_(heap->region()->DrainsAll() && backup_->region()->DrainsAll()),
      log_(heap->region(), heap->log_area(), [this] { return Sequence(); }),
      sticky_(heap->region(), &locks_, heap->log_area()),
      lanes_(new Lane[kLanes]) {
  backup_->SetEvictionListener([this](absl::Span<const ObjectId> victims) {
    std::vector<ObjectId> cleared;
    for (ObjectId id : victims) {
      const StickyIntents::Cleared intent = sticky_.Clear(id);
      if (!intent.drain) continue;
      heap_->region()->Flush(intent.bytes.data(), intent.bytes.size());
      cleared.push_back(id);
    }
    if (cleared.empty()) return;
    heap_->region()->Drain();
    for (ObjectId id : cleared) sticky_.Forget(id);
  });
}

KaminoStore::~KaminoStore() {
  listener_ = nullptr;  // its owner may be gone
  PropagateAll();
  // Before the log forgets what was committed.
  if (undo_log_ != nullptr) undo_log_->Forget();
  sticky_.Reset();
  log_.Reset(0);
}

absl::StatusOr<std::unique_ptr<KaminoStore>> KaminoStore::Open(
    Heap* heap, std::unique_ptr<Backup> backup, const KaminoOptions& options) {
  // First, since the destructor of a store cleans the log up.
  CommitLog log(heap->region(), heap->log_area());
  LockTable locks;
  StickyIntents sticky(heap->region(), &locks, heap->log_area());
  ASSIGN_OR_RETURN(
      auto last_sequence,
      RecoverHeap(heap, backup.get(), &log, &sticky, options.on_recovered));
  auto store =
      absl::WrapUnique(new KaminoStore(heap, std::move(backup), options));
  store->last_sequence_ = store->undo_committed_ = last_sequence;
  return store;
}

KaminoStore::Lane& KaminoStore::MyLane() const {
  return lanes_[ThisThread() % kLanes];
}

KaminoStore::Lane& KaminoStore::LaneOf(LockTable::Owner owner) const {
  return lanes_[(owner >> kThreadShift) % kLanes];
}

// Not the address of any state.
TransactionState* KaminoStore::Taken() {
  static char taken;
  return reinterpret_cast<TransactionState*>(&taken);
}

LockTable::Owner KaminoStore::NewOwner() {
  thread_local uint64_t next = ThisThread() << kThreadShift;
  return ++next;
}

std::unique_ptr<Transaction> KaminoStore::Begin(absl::Duration lock_wait) {
  return absl::make_unique<KaminoTransaction>(this, NewOwner(), lock_wait);
}

// --- For transactions.

bool KaminoStore::LockOrPropagate(
    ObjectId id, absl::Duration wait,
    absl::FunctionRef<bool(absl::Duration)> take) {
  if (take(absl::ZeroDuration())) return true;
  if (!copy_at_commit_) return wait > absl::ZeroDuration() && take(wait);
  const auto propagate_holders = [this, id] {
    const LockTable::Owner holder = locks_.Holder(id);
    if (holder == 0) return;
    std::vector<State> batch;
    TakePending(LaneOf(holder), SIZE_MAX, &batch);
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

CommitLog::Claim KaminoStore::ClaimRecord(size_t entries) {
  for (;;) {
    if (auto claim = log_.TryClaim(entries); claim.has_value()) return *claim;
    Reached(Branch::kLogFull);
    // The rest belongs to other threads in the middle of a commit.
    if (!PropagateAll()) YieldProcessor();
  }
}

KaminoStore::Turn KaminoStore::TakeTurn() {
  Turn turn;
  if (!copy_at_commit_) return turn;
  TransactionState* const last = MyLane().last.exchange(Taken());
  if (last == Taken()) {  // by a thread of the same lane
    Reached(Branch::kCommitLaneTaken);
    return turn;
  }
  Reached(last == nullptr ? Branch::kCommitAlone : Branch::kCommitSharesDrain);
  turn.before.reset(last);
  turn.taken = true;
  return turn;
}

void KaminoStore::Committed(State state, Turn turn) {
  MarkBlocks(*state);
  bool done = false;
  if (undo_log_ != nullptr) {
    CHECK_GT(state->sequence, undo_committed_);
    CHECK(undo_owner_ == 0 || undo_owner_ == state->owner);
    undo_committed_ = state->sequence;
    undo_log_->Reuse();
    undo_owner_ = 0;
    done = !PrepareBackup(state.get());
  }
  if (state->held) {
    absl::MutexLock lock(&mutex_);
    held_[state->sequence];
  }
  if (turn.before != nullptr) Propagated(std::move(turn.before));
  // Before another thread can propagate it and the log forget it.
  Lane& lane = MyLane();
  std::atomic<uint64_t>& sequence =
      turn.taken ? lane.sequence_last : lane.sequence;
  const auto keep_sequence = [&sequence, committed = state->sequence] {
    if (committed <= sequence.load(std::memory_order_relaxed)) return;
    sequence.store(committed, std::memory_order_relaxed);
  };
  if (turn.taken) {
    keep_sequence();
    lane.committed_last.store(
        lane.committed_last.load(std::memory_order_relaxed) + 1,
        std::memory_order_relaxed);
    lane.last.store(state.release(), std::memory_order_release);
    return;
  }
  {
    SpinLockHolder lock(&lane.mutex);
    keep_sequence();
    ++lane.committed;
    if (!done) {
      lane.pending.push_back(std::move(state));
      lane.any.store(true, std::memory_order_release);
    }
  }
  if (done) Propagated(std::move(state));
}

uint64_t KaminoStore::Sequence() const {
  uint64_t largest = last_sequence_;
  for (size_t i = 0; i < kLanes; ++i) {
    largest = std::max(
        {largest, lanes_[i].sequence_last.load(), lanes_[i].sequence.load()});
  }
  return largest;
}

void KaminoStore::CommittedNothing(State state) {
  Reached(Branch::kCommitOfNothing);
  {
    Lane& lane = MyLane();
    SpinLockHolder lock(&lane.mutex);
    ++lane.committed;
  }
  // ExpectWrites may have made copies, though nothing was written.
  for (const TransactionState::Object& object : state->objects) {
    if (Pinned(object)) backup_->Unpin(object.id);
  }
  Unlock(std::move(state));
}

void KaminoStore::Aborted(State state) {
  if (state->claimed) log_.Done(state->claim);
  if (!state->write_set.empty()) {
    Lane& lane = MyLane();
    SpinLockHolder lock(&lane.mutex);
    ++lane.aborted;
  }
  for (TransactionState::Object& object : state->objects) {
    if (Pinned(object)) backup_->Unpin(object.id);
    object.freed = object.allocated;  // to be given back
  }
  Unlock(std::move(state));
}

// --- The undo log.

absl::Status KaminoStore::SaveRanges(TransactionState* state,
                                     absl::Span<const Intent> more) {
  WriteSet& unsaved = state->unsaved;
  unsaved.clear();
  state->foreseen.clear();
  for (size_t i = state->saved; i < state->ranges.size(); ++i) {
    const auto& object = state->objects[state->ranges[i].object];
    if (object.allocated || object.freed) continue;
    unsaved.push_back(state->write_set[i]);
  }
  unsaved.insert(unsaved.end(), more.begin(), more.end());
  if (!unsaved.empty()) {
    CHECK(undo_owner_ == 0 || undo_owner_ == state->owner)
        << "over an undo log one transaction stores at a time";
    undo_owner_ = state->owner;
    RETURN_IF_ERROR(undo_log_->Save(undo_committed_ + 1, unsaved));
    undo_log_->region()->Drain();
  }
  state->saved = state->ranges.size();
  return absl::OkStatus();
}

void KaminoStore::RestoreSaved(const TransactionState& state) {
  if (undo_owner_ != state.owner) return;  // nothing was stored
  undo_log_->TakeBack(undo_committed_);
  heap_->region()->Drain();
  undo_log_->Reuse();
  undo_owner_ = 0;
}

// --- The backup.

void KaminoStore::MarkBlocks(const TransactionState& state) {
  for (const TransactionState::Object& object : state.objects) {
    if (object.allocated == object.freed) continue;
    heap_->StoreState(object.id, object.allocated);
  }
}

bool KaminoStore::PrepareBackup(TransactionState* state) {
  bool any = false;
  for (TransactionState::Object& object : state->objects) {
    if (object.freed) {
      object.cleared = sticky_.Clear(object.id).bytes;
      backup_->Drop(object.id);
    } else if (object.allocated) {
      object.copy = backup_->CopyOfNew(object.id);
    }
    any |= object.freed || object.allocated;
  }
  if (!any) return false;
  for (const TransactionState::Object& object : state->objects) {
    if (!object.allocated && !object.freed) continue;
    heap_->FlushState(object.id);
    heap_->region()->Flush(object.cleared.data(), object.cleared.size());
  }
  return true;
}

void KaminoStore::CopyToBackup(const TransactionState& state) {
  for (size_t i = 0; i < state.write_set.size(); ++i) {
    const Intent& intent = state.write_set[i];
    const TransactionState::Range& range = state.ranges[i];
    const TransactionState::Object& object = state.objects[range.object];
    if (object.freed || object.copy == nullptr) continue;
    const size_t begin = WordsBegin(intent.offset);
    const size_t end = WordsEnd(intent.offset + size_t{intent.length});
    const std::byte* bytes = range.kept >= 0 ? state.bytes.data() + range.kept
                                             : object.payload.data() + begin;
    backup_->region()->CopyFlush(object.copy + begin, bytes, end - begin);
  }
}

void KaminoStore::TakePending(Lane& lane, size_t max,
                              std::vector<State>* batch) {
  TransactionState* last = lane.last.load(std::memory_order_relaxed);
  if (max > 0 && last != nullptr && last != Taken() &&
      lane.last.compare_exchange_strong(last, nullptr)) {
    batch->emplace_back(last);
    --max;
  }
  if (!lane.any.load(std::memory_order_acquire)) return;
  SpinLockHolder lock(&lane.mutex);
  const auto begin = lane.pending.begin();
  const auto end = begin + std::min(max, lane.pending.size());
  std::move(begin, end, std::back_inserter(*batch));
  lane.pending.erase(begin, end);
  lane.any.store(!lane.pending.empty(), std::memory_order_relaxed);
}

size_t KaminoStore::PropagateBatch(std::vector<State> batch) {
  if (batch.empty()) return 0;
  if (kExplores && &LaneOf(batch.front()->owner) != &MyLane()) {
    Reached(Branch::kPropagatedByOther);
  }
  for (const State& state : batch) PrepareBackup(state.get());
  for (const State& state : batch) CopyToBackup(*state);
  Drain(/*backup=*/true, /*heap=*/true);
  for (State& state : batch) Propagated(std::move(state));
  return batch.size();
}

void KaminoStore::OnDrained() {
  if (undo_log_ == nullptr) return;
  std::vector<State> batch;
  TakePending(MyLane(), SIZE_MAX, &batch);
  for (State& state : batch) Propagated(std::move(state));
}

size_t KaminoStore::PropagateSome(size_t max) {
  std::vector<State> batch;
  for (size_t i = 0; i < kLanes && batch.size() < max; ++i) {
    TakePending(lanes_[i], max - batch.size(), &batch);
  }
  return PropagateBatch(std::move(batch));
}

void KaminoStore::Drain(bool backup, bool heap) {
  if (backup && !(heap && one_drain_)) backup_->region()->Drain();
  if (heap) heap_->region()->Drain();
}

size_t KaminoStore::PendingIn(const Lane& lane) {
  const TransactionState* const last = lane.last.load();
  return lane.pending.size() + (last != nullptr && last != Taken() ? 1 : 0);
}

size_t KaminoStore::CountPending() const {
  size_t count = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    SpinLockHolder lock(&lanes_[i].mutex);
    count += PendingIn(lanes_[i]);
  }
  return count;
}

size_t KaminoStore::LackedByBackup() const {
  const Lane& lane = MyLane();
  SpinLockHolder lock(&lane.mutex);
  return PendingIn(lane);
}

size_t KaminoStore::PropagateToBackup(size_t max) {
  PropagateSome(max);
  return CountPending();
}

void KaminoStore::Propagated(State state) {
  log_.Done(state->claim);
  for (const TransactionState::Object& object : state->objects) {
    if (Pinned(object) || object.freed) backup_->Unpin(object.id);
    if (object.freed) sticky_.Forget(object.id);
  }
  if (state->held) {
    absl::MutexLock lock(&mutex_);
    const auto held = held_.find(state->sequence);
    if (!held->second.released) {
      Reached(Branch::kHeldForRelease);
      held->second.state = std::move(state);
      return;
    }
    Reached(Branch::kReleasedBeforePropagated);
    held_.erase(held);
  }
  Unlock(std::move(state));
}

void KaminoStore::Unlock(State state) {
  std::vector<ObjectId> unlocked;
  for (const TransactionState::Object& object : state->objects) {
    if (!object.exclusive) continue;
    if (locks_.UnlockExclusive(object.id, state->owner) && listener_) {
      unlocked.push_back(object.id);
    }
    // The next owner of its space finds it unlocked.
    if (object.freed) heap_->Release(object.id);
  }
  TransactionState::Recycle(std::move(state));
  if (!unlocked.empty()) listener_(unlocked);
}

void KaminoStore::ReleaseHold(uint64_t sequence) {
  State state;
  {
    absl::MutexLock lock(&mutex_);
    const auto held = held_.find(sequence);
    if (held == held_.end()) return;
    held->second.released = true;
    if (held->second.state == nullptr) return;  // Propagated releases it
    Reached(Branch::kReleasedAfterPropagated);
    state = std::move(held->second.state);
    held_.erase(held);
  }
  Unlock(std::move(state));
}

void KaminoStore::HoldLocks(uint64_t sequence, const WriteSet& write_set) {
  State state = TransactionState::Take();
  state->owner = NewOwner();
  state->sequence = sequence;
  for (const Intent& intent : write_set) {
    // A later transaction of the chain with the same object takes the lock
    // over: its existence shows that this one was completed.
    locks_.Seize(intent.object, state->owner);
    TransactionState::Object* object = state->Find(intent.object);
    if (object == nullptr) object = &state->Add(intent.object);
    object->exclusive = true;
    // Not free any more: a later transaction has reused the space.
    object->freed |= intent.kind == IntentKind::kFree &&
                     heap_->ReserveAt(intent.object, intent.length).ok();
  }
  absl::MutexLock lock(&mutex_);
  held_[sequence].state = std::move(state);
}

uint64_t KaminoStore::bytes_used() const {
  // A backup's space is set aside whether used or not.
  return heap_->stats().bytes_used + heap_->log_area().size() +
         backup_->stats().bytes_total;
}

KaminoStats KaminoStore::stats() const {
  KaminoStats stats;
  stats.backup = backup_->stats();
  stats.locked_objects = locks_.exclusive();
  for (size_t i = 0; i < kLanes; ++i) {
    SpinLockHolder lock(&lanes_[i].mutex);
    stats.committed += lanes_[i].committed +
                       lanes_[i].committed_last.load(std::memory_order_relaxed);
    stats.aborted += lanes_[i].aborted;
    stats.unpropagated += PendingIn(lanes_[i]);
  }
  absl::MutexLock lock(&mutex_);
  for (const auto& [sequence, held] : held_)
    stats.held += held.state != nullptr;
  return stats;
}

}  // namespace kamino::engine
