#include "engine/kamino/commit_lanes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/explore.h"

namespace kamino::engine {
namespace {

// Owners are numbered by thread.
constexpr int kThreadShift = 40;

// A number unique to this thread in the process; not 0.
uint64_t ThisThread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t mine = next.fetch_add(1);
  return mine;
}

}  // namespace

CommitLanes::Lane& CommitLanes::MyLane() const {
  return lanes_[ThisThread() % kLanes];
}

CommitLanes::Lane& CommitLanes::LaneOf(LockTable::Owner owner) const {
  return lanes_[(owner >> kThreadShift) % kLanes];
}

LockTable::Owner CommitLanes::NewOwner() {
  thread_local uint64_t next = ThisThread() << kThreadShift;
  return ++next;
}

bool CommitLanes::IsMine(LockTable::Owner owner) const {
  return &LaneOf(owner) == &MyLane();
}

CommitLanes::Turn CommitLanes::TakeTurn() {
  Turn turn;
  Lane& lane = MyLane();
  const Last last = lane.state.exchange(Last::kTaken);
  if (last == Last::kTaken) {  // by a thread of the same lane, or Take
    Reached(Branch::kCommitLaneTaken);
    return turn;
  }
  if (last == Last::kReady) {
    Reached(Branch::kCommitSharesDrain);
    turn.before.reset(lane.last);
  } else {
    Reached(Branch::kCommitAlone);
  }
  turn.taken = true;
  return turn;
}

CommitLanes::State CommitLanes::Add(State state, bool taken, bool propagated) {
  Lane& lane = MyLane();
  std::atomic<uint64_t>& sequence = taken ? lane.sequence_last : lane.sequence;
  const auto keep_sequence = [&sequence, committed = state->sequence] {
    if (committed <= sequence.load(std::memory_order_relaxed)) return;
    sequence.store(committed, std::memory_order_relaxed);
  };
  if (taken) {
    keep_sequence();
    lane.committed_last.store(
        lane.committed_last.load(std::memory_order_relaxed) + 1,
        std::memory_order_relaxed);
    lane.last = state.release();
    lane.state.store(Last::kReady, std::memory_order_release);
    return nullptr;
  }
  SpinLockHolder lock(&lane.mutex);
  keep_sequence();
  ++lane.committed;
  if (propagated) return state;
  lane.pending.push_back(std::move(state));
  lane.any.store(true, std::memory_order_release);
  return nullptr;
}

void CommitLanes::CountEmpty() {
  MyLane().committed_empty.fetch_add(1, std::memory_order_relaxed);
}

void CommitLanes::CountAborted() {
  Lane& lane = MyLane();
  SpinLockHolder lock(&lane.mutex);
  ++lane.aborted;
}

void CommitLanes::TakePending(Lane& lane, size_t max, Batch* batch) {
  Last last = lane.state.load(std::memory_order_relaxed);
  if (max > 0 && last == Last::kReady &&
      lane.state.compare_exchange_strong(last, Last::kTaken)) {
    batch->emplace_back(lane.last);
    lane.state.store(Last::kNone, std::memory_order_release);
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

void CommitLanes::Take(size_t max, Batch* batch) {
  for (size_t i = 0; i < kLanes && batch->size() < max; ++i) {
    TakePending(lanes_[i], max - batch->size(), batch);
  }
}

void CommitLanes::TakeMine(Batch* batch) {
  TakePending(MyLane(), SIZE_MAX, batch);
}

void CommitLanes::TakeOf(LockTable::Owner owner, Batch* batch) {
  TakePending(LaneOf(owner), SIZE_MAX, batch);
}

size_t CommitLanes::PendingIn(const Lane& lane) {
  return lane.pending.size() + (lane.state.load() == Last::kReady ? 1 : 0);
}

size_t CommitLanes::Pending() const {
  size_t count = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    SpinLockHolder lock(&lanes_[i].mutex);
    count += PendingIn(lanes_[i]);
  }
  return count;
}

size_t CommitLanes::PendingOfMine() const {
  const Lane& lane = MyLane();
  SpinLockHolder lock(&lane.mutex);
  return PendingIn(lane);
}

uint64_t CommitLanes::LargestSequence() const {
  uint64_t largest = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    largest = std::max(
        {largest, lanes_[i].sequence_last.load(), lanes_[i].sequence.load()});
  }
  return largest;
}

CommitLanes::Counts CommitLanes::counts() const {
  Counts counts;
  for (size_t i = 0; i < kLanes; ++i) {
    SpinLockHolder lock(&lanes_[i].mutex);
    counts.committed +=
        lanes_[i].committed +
        lanes_[i].committed_last.load(std::memory_order_relaxed) +
        lanes_[i].committed_empty.load(std::memory_order_relaxed);
    counts.aborted += lanes_[i].aborted;
    counts.pending += PendingIn(lanes_[i]);
  }
  return counts;
}

}  // namespace kamino::engine
