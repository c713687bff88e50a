#include "engine/kamino/copy_table.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "engine/explore.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

// A way of the front for a kibibyte of copies. Explorations have few, so that
// copies displace each other.
constexpr uint64_t kUnitsPerSet = 128;

int LogOfSets(uint64_t units) {
  if (kExplores) return 1;
  return std::max(1, static_cast<int>(std::bit_width(units / kUnitsPerSet)));
}

}  // namespace

// --- A copy.

void CopyTable::Copy::Pin() {
  uint64_t state = state_.load(std::memory_order_relaxed);
  do {
    CHECK_EQ(state & kEvicted, 0u) << "the copy of object " << id();
  } while (!state_.compare_exchange_weak(state, (state + 1) | kRecent));
}

bool CopyTable::Copy::PinAs(ObjectId id) {
  uint64_t state = state_.load(std::memory_order_acquire);
  while ((state & (kEvicted | kDropped)) == 0 && this->id() == id) {
    if (state_.compare_exchange_weak(state, (state + 1) | kRecent)) return true;
  }
  return false;
}

// A plain store: a locked instruction would wait for the caller's stores to
// media. While there is a pin, other threads only take kRecent away; to lose
// that does no harm.
void CopyTable::Copy::Unpin() {
  const uint64_t state = state_.load(std::memory_order_relaxed);
  CHECK_NE(state & kPins, 0u) << "the copy of object " << id();
  state_.store(state - 1, std::memory_order_release);
}

// --- The front.

CopyTable::CopyTable(uint64_t units)
    : front_shift_(64 - LogOfSets(units)),
      front_(new FrontSet[uint64_t{1} << LogOfSets(units)]) {}

CopyTable::Copy* CopyTable::TryPin(ObjectId id) {
  for (const std::atomic<uint64_t>& entry : FrontOf(id).ways) {
    const uint64_t way = entry.load(std::memory_order_acquire);
    if (way == 0 || (way ^ TagOf(id)) >> kTagShift != 0) continue;
    Copy* const copy = CopyAt(way);
    if (copy->PinAs(id)) return copy;
  }
  return nullptr;
}

bool CopyTable::TryUnpin(ObjectId id) {
  for (const std::atomic<uint64_t>& entry : FrontOf(id).ways) {
    const uint64_t way = entry.load(std::memory_order_acquire);
    if (way == 0 || (way ^ TagOf(id)) >> kTagShift != 0) continue;
    Copy* const copy = CopyAt(way);
    if (copy->id() != id || copy->dropped()) continue;
    copy->Unpin();
    return true;
  }
  return false;
}

// In a full set the object's hash chooses the way that it takes.
void CopyTable::EnterFront(ObjectId id, Copy* copy) {
  const uint64_t way = reinterpret_cast<uintptr_t>(copy) | TagOf(id);
  CHECK_EQ(CopyAt(way), copy);
  FrontSet& set = FrontOf(id);
  for (std::atomic<uint64_t>& entry : set.ways) {
    if (entry.load(std::memory_order_relaxed) == 0) {
      return entry.store(way, std::memory_order_release);
    }
  }
  set.ways[HashOf(id) % std::size(set.ways)].store(way,
                                                   std::memory_order_release);
}

void CopyTable::LeaveFront(const Copy* copy) {
  for (std::atomic<uint64_t>& entry : FrontOf(copy->id()).ways) {
    const uint64_t way = entry.load(std::memory_order_relaxed);
    if (way != 0 && CopyAt(way) == copy) entry.store(0);
  }
}

// --- All copies.

CopyTable::Copy* CopyTable::Find(ObjectId id) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return nullptr;
  Copy* const copy = found->second;
  const uint64_t way = reinterpret_cast<uintptr_t>(copy) | TagOf(id);
  const FrontSet& set = FrontOf(id);
  if (std::none_of(std::begin(set.ways), std::end(set.ways),
                   [way](const auto& entry) { return entry.load() == way; })) {
    Reached(Branch::kCopyNotInFront);
    EnterFront(id, copy);
  }
  return copy;
}

CopyTable::Copy* CopyTable::Insert(ObjectId id, const Place& place,
                                   bool pinned) {
  Copy* copy;
  if (unused_.empty()) {
    copy = &all_.emplace_back();
  } else {
    copy = unused_.back();
    unused_.pop_back();
  }
  copy->id_.store(id, std::memory_order_relaxed);
  copy->place_ = place;
  const uint64_t generation = copy->state_.load() & -Copy::kGeneration;
  copy->state_.store(generation | (pinned ? Copy::kRecent + 1 : 0),
                     std::memory_order_release);
  CHECK(copies_.emplace(id, copy).second) << "two copies of object " << id;
  EnterFront(id, copy);
  return copy;
}

void CopyTable::Erase(Copy* copy) {
  LeaveFront(copy);
  copies_.erase(copy->id());
  const uint64_t generation = copy->state_.load() & -Copy::kGeneration;
  copy->state_.store((generation + Copy::kGeneration) | Copy::kEvicted);
  copy->id_.store(kNullObject, std::memory_order_relaxed);
  unused_.push_back(copy);
}

bool CopyTable::MarkVictim(Copy* copy) {
  uint64_t state = copy->state_.load();
  for (;;) {
    if ((state & (Copy::kEvicted | Copy::kDropped)) != 0) return false;
    if ((state & Copy::kPins) != 0) {
      Reached(Branch::kCopyPinnedStays);
      return false;
    }
    const bool recent = (state & Copy::kRecent) != 0;
    const uint64_t marked =
        recent ? state & ~Copy::kRecent : state | Copy::kEvicted;
    if (!copy->state_.compare_exchange_weak(state, marked)) continue;
    if (recent) Reached(Branch::kCopySecondChance);
    return !recent;
  }
}

std::vector<CopyTable::Copy*> CopyTable::MarkVictims(uint64_t units) {
  std::vector<Copy*> victims;
  uint64_t found = 0;
  // Twice around: the first time may only take second chances away.
  const size_t most = 2 * all_.size();
  for (size_t step = 0; step < most && found < units; ++step) {
    if (hand_ >= all_.size()) hand_ = 0;
    Copy* const copy = &all_[hand_++];
    if (!MarkVictim(copy)) continue;
    victims.push_back(copy);
    found += copy->place().units;
  }
  return victims;
}

}  // namespace kamino::engine
