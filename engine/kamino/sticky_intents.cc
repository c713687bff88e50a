#include "engine/kamino/sticky_intents.h"

#include <algorithm>
#include <iterator>

#include "engine/explore.h"
#include "engine/kamino/commit_log_format.h"

namespace kamino::engine {
namespace {

// Explorations use tiny heaps with few objects: with half of the table entries
// replace each other there, too.
constexpr size_t kUsedPart = kExplores ? 2 : 1;

absl::Span<uint64_t> TableIn(absl::Span<std::byte> area) {
  return absl::MakeSpan(reinterpret_cast<uint64_t*>(
                            area.data() + commit_log_format::TableOffset()),
                        commit_log_format::TableBytes(area.size()) /
                            sizeof(uint64_t) / kUsedPart);
}

}  // namespace

StickyIntents::StickyIntents(Region* region, const LockTable* locks,
                             absl::Span<std::byte> area)
    : region_(region),
      locks_(locks),
      table_(TableIn(area)),
      per_shard_(table_.size() / kShards),
      shards_(new Shard[kShards]),
      front_(new FrontSet[kFrontSets]) {
  for (size_t i = 0; i < kShards; ++i) {
    SpinLockHolder lock(&shards_[i].mutex);
    shards_[i].slots.resize(per_shard_);
    shards_[i].index.reserve(per_shard_);
  }
}

size_t StickyIntents::ShardOf(ObjectId id) const {
  return (id >> 6) * 0x9e3779b97f4a7c15ull >> 60;
}

const uint64_t* StickyIntents::Store(size_t shard, uint32_t slot, ObjectId id) {
  uint64_t* entry = &table_[shard * per_shard_ + slot];
  __atomic_store_n(entry, id, __ATOMIC_RELEASE);
  return entry;
}

// A set belongs to one shard, whose mutex is held. An id that loses its way
// here keeps its entry.
void StickyIntents::EnterFront(ObjectId id, uint32_t slot) {
  FrontSet& set = FrontOf(id);
  for (std::atomic<ObjectId>& way : set.ways) {
    if (way.load() == kNullObject) return way.store(id);
  }
  set.ways[slot % std::size(set.ways)].store(id);
}

void StickyIntents::LeaveFront(ObjectId id) {
  for (std::atomic<ObjectId>& way : FrontOf(id).ways) {
    if (way.load() == id) way.store(kNullObject);
  }
}

StickyIntents::Added StickyIntents::Add(ObjectId id) {
  if (Has(id)) return Added::kWasThere;
  const size_t number = ShardOf(id);
  Shard& shard = shards_[number];
  SpinLockHolder lock(&shard.mutex);
  if (const auto found = shard.index.find(id); found != shard.index.end()) {
    Reached(Branch::kIntentThereNotInFront);
    shard.slots[found->second].recent = true;
    EnterFront(id, found->second);
    return Added::kWasThere;
  }
  // Twice around: once to take the second chances away.
  for (size_t step = 0; step < 2 * per_shard_; ++step) {
    const uint32_t at = shard.hand;
    shard.hand = (at + 1) % static_cast<uint32_t>(per_shard_);
    Slot& slot = shard.slots[at];
    const ObjectId before = slot.id;
    if (before != kNullObject) {
      if (slot.recent) {
        Reached(Branch::kIntentSecondChance);
        slot.recent = false;
        continue;
      }
      LeaveFront(slot.id);
      if (locks_->AnyExclusive(slot.id)) {
        Reached(Branch::kIntentOfLockedStays);
        continue;
      }
      shard.index.erase(before);
      shard.replaced.push_back({before, id, at});
    }
    slot = {id, false};
    shard.index.emplace(id, at);
    region_->Flush(Store(number, at, id), sizeof(uint64_t));
    if (before == kNullObject) {
      Reached(Branch::kIntentNew);
      return Added::kNew;
    }
    Reached(Branch::kIntentReplaces);
    return Added::kReplaced;
  }
  Reached(Branch::kIntentNoRoom);
  return Added::kNoRoom;
}

void StickyIntents::Drained(ObjectId id) {
  Shard& shard = shards_[ShardOf(id)];
  SpinLockHolder lock(&shard.mutex);
  const auto found =
      std::find_if(shard.replaced.begin(), shard.replaced.end(),
                   [id](const Replaced& one) { return one.by == id; });
  if (found != shard.replaced.end()) shard.replaced.erase(found);
}

// If the entry that replaced the object's is not durable, it is made durable
// here: the thread that stored it could take forever.
StickyIntents::Cleared StickyIntents::Clear(ObjectId id) {
  const size_t number = ShardOf(id);
  Shard& shard = shards_[number];
  SpinLockHolder lock(&shard.mutex);
  Cleared cleared;
  for (const Replaced& one : shard.replaced) {
    if (one.id != id) continue;
    Reached(Branch::kIntentClearedReplaced);
    region_->Flush(&table_[number * per_shard_ + one.slot], sizeof(uint64_t));
    cleared.drain = true;
  }
  const auto found = shard.index.find(id);
  if (found == shard.index.end()) {
    Reached(Branch::kIntentClearedNone);
    return cleared;
  }
  Reached(Branch::kIntentCleared);
  LeaveFront(id);
  cleared.entry = Store(number, found->second, kNullObject);
  cleared.drain = true;
  return cleared;
}

void StickyIntents::Forget(ObjectId id) {
  Shard& shard = shards_[ShardOf(id)];
  SpinLockHolder lock(&shard.mutex);
  const auto found = shard.index.find(id);
  if (found == shard.index.end()) return;
  shard.slots[found->second] = {};
  shard.index.erase(found);
}

std::vector<ObjectId> StickyIntents::Scan() const {
  std::vector<ObjectId> ids;
  for (uint64_t id : table_) {
    if (id != kNullObject) ids.push_back(id);
  }
  return ids;
}

void StickyIntents::Reset() {
  for (size_t i = 0; i < kFrontSets; ++i) {
    for (std::atomic<ObjectId>& way : front_[i].ways) way.store(kNullObject);
  }
  for (size_t i = 0; i < kShards; ++i) {
    SpinLockHolder lock(&shards_[i].mutex);
    shards_[i].index.clear();
    shards_[i].index.reserve(per_shard_);  // clear() frees the memory
    shards_[i].replaced.clear();
    shards_[i].slots.assign(per_shard_, {});
  }
  region_->ZeroFlush(table_.data(), table_.size() * sizeof(uint64_t));
  region_->Drain();
}

}  // namespace kamino::engine
