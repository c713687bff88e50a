// kamino-dynamic (section 4.2): copies of the objects written last, in a
// bounded region.
//
// The paper keeps a persistent hash table from object to copy. Here every copy
// carries its object's id and the table is rebuilt from the copies at open: the
// same lookup, without a second structure to keep durable in the critical path.
//
// A copy's content and id are durable before its block says allocated; a block
// says free durably before its space holds another copy. Copies are evicted in
// batches, by the CLOCK algorithm, since each batch takes two drains. Only the
// allocator drains with the mutex held, when it cuts blocks: a thread that
// makes a copy has pinned it, and one that evicts copies has marked them, so
// that others leave them alone.
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/heap/allocator.h"
#include "engine/kamino/copy_table.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_header.h"
#include "engine/resource_error.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::StateOf;
using heap_format::UnitsFor;
using heap_format::UnitsOf;
using undo_copy_format::kHeaderBytes;
using undo_copy_format::Kind;

constexpr uint64_t kFirstBlock = kHeaderBytes + kUnitBytes;

// An eviction frees at least kBatchBytes, but no more than a part of the space
// unless more is needed.
constexpr uint64_t kBatchBytes = 64u << 10;
constexpr uint64_t kLargestBatchShare = kExplores ? 8 : 64;

// Explorations need waits with a limit; each eviction signals its end.
constexpr absl::Duration kEvictionWait = absl::Microseconds(100);

uint64_t EndOf(const Region& region) {
  return region.size() / kUnitBytes * kUnitBytes;
}

uint64_t UnitsIn(const Region& region) {
  return (EndOf(region) - kFirstBlock) / kUnitBytes;
}

class DynamicUndoCopy final : public UndoCopy {
 public:
  DynamicUndoCopy(const Heap* heap, Region* region)
      : heap_(heap),
        region_(region),
        allocator_(region, kFirstBlock, EndOf(*region)),
        copies_(UnitsIn(*region)) {}

  absl::Status Load();

  absl::string_view scheme() const override { return "kamino-dynamic"; }
  absl::StatusOr<std::byte*> EnsureCopy(ObjectId id) override;
  std::vector<std::byte*> EnsureCopies(absl::Span<const ObjectId> ids) override;
  // A new object may never be written again: its copy is made at the next
  // write.
  std::byte* CopyOfNew(ObjectId) override { return nullptr; }
  absl::StatusOr<absl::Span<std::byte>> Copy(ObjectId id) override;
  void Drop(ObjectId id) override;
  void Unpin(ObjectId id) override;
  void EvictAll() override;
  void PrefetchCopy(ObjectId id) const override { copies_.Prefetch(id); }
  Region* region() const override { return region_; }
  void SetEvictionListener(EvictionListener listener) override {
    MutexLock lock(&mutex_);
    eviction_listener_ = std::move(listener);
  }
  UndoCopyStats stats() const override;

 private:
  using Place = CopyTable::Place;
  using Copied = CopyTable::Copy;

  BlockHeader* HeaderAt(uint64_t block) const {
    return heap_format::HeaderOf(region_->base(), block);
  }
  std::byte* BytesOf(const Place& place) const {
    return region_->base() + place.block;
  }
  void SetState(const Place& place, BlockState state) {
    BlockHeader* header = HeaderAt(place.block);
    __atomic_store_n(&header->word, MakeWord(state, place.units),
                     __ATOMIC_RELEASE);
    region_->Flush(header, sizeof(*header));
  }
  uint64_t UnitsOfCopy(ObjectId id) const {
    return UnitsFor(heap_->BlockPayload(id).size());
  }

  // Gives its space back.
  void Erase(Copied* copy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Null if there is none. Waits, without the mutex, for a thread that evicts
  // it.
  Copied* Find(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The object's copy, pinned; null if there is none.
  std::byte* PinExisting(ObjectId id);

  // A pinned block for a copy; its header says free. Without room it evicts
  // copies of at least `to_evict` units at a time, and releases the mutex
  // meanwhile.
  absl::StatusOr<Place> Reserve(ObjectId id, uint64_t to_evict)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Stores and flushes the object's bytes to its block.
  void StoreCopy(ObjectId id, const Place& place);

  // Evicts unpinned copies until they have freed `units` or none is left, and
  // releases the mutex meanwhile. Returns the units freed: 0 if it only waited
  // for another thread's eviction; nothing if there was no copy to evict.
  std::optional<uint64_t> Evict(uint64_t units)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Heap* const heap_;
  Region* const region_;
  Allocator allocator_;

  mutable Mutex mutex_;
  // Some of its functions need no mutex.
  CopyTable copies_;
  size_t evicting_ ABSL_GUARDED_BY(mutex_) = 0;  // copies marked as evicted
  CondVar evicted_;                              // some are gone
  EvictionListener eviction_listener_ ABSL_GUARDED_BY(mutex_);
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
  CopyCounts counts_;
};

absl::Status DynamicUndoCopy::Load() {
  MutexLock lock(&mutex_);
  ObjectId twice = kNullObject;
  absl::Status walked = allocator_.Walk([&](uint64_t block, uint64_t word) {
    mutex_.AssertHeld();
    if (StateOf(word) != BlockState::kAllocated) return;
    const ObjectId id = HeaderAt(block)->copy_of;
    if (copies_.Find(id) != nullptr) {
      twice = id;
    } else {
      copies_.Insert(id, {block, UnitsOf(word)}, /*pinned=*/false);
    }
  });
  if (!walked.ok()) {
    return absl::DataLossError(
        "the undo copy is damaged: its blocks do not cover it");
  }
  if (twice == kNullObject) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the undo copy is damaged: two copies of object ", twice));
}

void DynamicUndoCopy::Erase(Copied* copy) {
  allocator_.Give(copy->place().block, copy->place().units);
  copies_.Erase(copy);
}

std::optional<uint64_t> DynamicUndoCopy::Evict(uint64_t units) {
  const std::vector<Copied*> victims = copies_.MarkVictims(units);
  if (victims.empty()) {
    if (evicting_ == 0) return std::nullopt;
    evicted_.WaitWithTimeout(&mutex_, kEvictionWait);
    return 0;
  }
  if (victims.size() > 1) Reached(Branch::kCopiesEvictedTogether);
  evicting_ += victims.size();
  const EvictionListener& listener = eviction_listener_;
  mutex_.Unlock();
  std::vector<ObjectId> ids;
  for (const Copied* victim : victims) ids.push_back(victim->id());
  if (listener) listener(ids);
  for (const Copied* victim : victims)
    SetState(victim->place(), BlockState::kFree);
  region_->Drain();
  mutex_.Lock();
  uint64_t freed = 0;
  for (Copied* victim : victims) {
    freed += victim->place().units;
    Erase(victim);
    ++evictions_;
    Reached(Branch::kCopyEvicted);
  }
  evicting_ -= victims.size();
  evicted_.SignalAll();
  return freed;
}

absl::StatusOr<DynamicUndoCopy::Place> DynamicUndoCopy::Reserve(
    ObjectId id, uint64_t to_evict) {
  Reached(Branch::kCopyMade);
  counts_.AddMiss();
  const uint64_t units = UnitsOfCopy(id);
  const uint64_t all = UnitsIn(*region_);
  const uint64_t batch =
      std::min(kBatchBytes / kUnitBytes, all / kLargestBatchShare);
  auto block = allocator_.Take(units);
  // Other threads may take what this one frees: it gives up after twice the
  // space.
  for (uint64_t freed = 0; !block.ok() && freed < 2 * all;) {
    const auto more = Evict(std::max(to_evict, batch));
    if (!more.has_value()) break;
    freed += *more;
    block = allocator_.Take(units);
  }
  if (!block.ok()) {
    Reached(Branch::kUndoCopyFull);
    return ResourceError(
        Resource::kUndoCopy,
        absl::StrCat("the undo copy has no room for object ", id, " of ",
                     heap_->BlockPayload(id).size(),
                     " bytes: all its copies are of locked objects"));
  }
  const Place place = {*block, units};
  copies_.Insert(id, place, /*pinned=*/true);
  return place;
}

void DynamicUndoCopy::StoreCopy(ObjectId id, const Place& place) {
  const absl::Span<std::byte> payload = heap_->BlockPayload(id);
  HeaderAt(place.block)->copy_of = id;
  region_->Flush(HeaderAt(place.block), sizeof(BlockHeader));
  region_->CopyFlush(BytesOf(place), payload.data(), payload.size());
}

DynamicUndoCopy::Copied* DynamicUndoCopy::Find(ObjectId id) {
  Copied* found = copies_.Find(id);
  while (found != nullptr && found->evicted()) {
    Reached(Branch::kCopyAwaitsEviction);
    evicted_.WaitWithTimeout(&mutex_, kEvictionWait);
    found = copies_.Find(id);
  }
  return found;
}

std::byte* DynamicUndoCopy::PinExisting(ObjectId id) {
  Copied* copy = copies_.TryPin(id);
  if (copy == nullptr) {
    MutexLock lock(&mutex_);
    copy = Find(id);
    if (copy == nullptr) return nullptr;
    copy->Pin();
  }
  Reached(Branch::kCopyThere);
  counts_.AddHit();
  return BytesOf(copy->place());
}

absl::StatusOr<std::byte*> DynamicUndoCopy::EnsureCopy(ObjectId id) {
  if (std::byte* there = PinExisting(id); there != nullptr) return there;
  Place place;
  {
    MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(place, Reserve(id, UnitsOfCopy(id)));
  }
  StoreCopy(id, place);
  region_->Drain();
  SetState(place, BlockState::kAllocated);
  region_->Drain();
  return BytesOf(place);
}

std::vector<std::byte*> DynamicUndoCopy::EnsureCopies(
    absl::Span<const ObjectId> ids) {
  std::vector<std::byte*> copies;
  std::vector<std::pair<ObjectId, Place>> made;
  {
    uint64_t lacking = 0;  // units of those that have no copy yet
    // Existing copies are pinned first, so that making the others cannot evict
    // them.
    for (ObjectId id : ids) {
      copies.push_back(PinExisting(id));
      if (copies.back() == nullptr) lacking += UnitsOfCopy(id);
    }
    if (lacking == 0) return copies;
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (copies[i] != nullptr) continue;
      const auto place = Reserve(ids[i], lacking);
      lacking -= UnitsOfCopy(ids[i]);
      if (!place.ok()) continue;
      made.emplace_back(ids[i], *place);
      copies[i] = BytesOf(*place);
    }
  }
  if (made.empty()) return copies;
  for (const auto& [id, place] : made) StoreCopy(id, place);
  region_->Drain();
  for (const auto& [id, place] : made) SetState(place, BlockState::kAllocated);
  region_->Drain();
  return copies;
}

absl::StatusOr<absl::Span<std::byte>> DynamicUndoCopy::Copy(ObjectId id) {
  MutexLock lock(&mutex_);
  const Copied* const copy = Find(id);
  if (copy == nullptr) {
    return absl::DataLossError(
        absl::StrCat("the undo copy has no copy of object ", id));
  }
  return absl::MakeSpan(BytesOf(copy->place()),
                        heap_format::PayloadBytes(copy->place().units));
}

// It is not evicted until then: its space is given back once, by Unpin.
void DynamicUndoCopy::Drop(ObjectId id) {
  MutexLock lock(&mutex_);
  Copied* const copy = Find(id);
  if (copy == nullptr) return;
  SetState(copy->place(), BlockState::kFree);
  Reached(Branch::kCopyDropped);
  copy->Drop();
}

void DynamicUndoCopy::Unpin(ObjectId id) {
  if (copies_.TryUnpin(id)) return;
  MutexLock lock(&mutex_);
  Copied* const copy = copies_.Find(id);
  if (copy == nullptr) return;
  if (copy->dropped()) {
    Erase(copy);
  } else {
    copy->Unpin();
  }
}

void DynamicUndoCopy::EvictAll() {
  MutexLock lock(&mutex_);
  Evict(UINT64_MAX);
}

UndoCopyStats DynamicUndoCopy::stats() const {
  MutexLock lock(&mutex_);
  UndoCopyStats stats;
  counts_.AddTo(&stats);
  stats.evictions = evictions_;
  stats.bytes_total = EndOf(*region_) - kFirstBlock;
  stats.bytes_used = stats.bytes_total - allocator_.free_bytes();
  return stats;
}

}  // namespace

std::vector<std::byte*> UndoCopy::EnsureCopies(absl::Span<const ObjectId> ids) {
  std::vector<std::byte*> copies;
  for (ObjectId id : ids) copies.push_back(EnsureCopy(id).value_or(nullptr));
  return copies;
}

size_t DynamicUndoCopyBytes(size_t heap_bytes, double alpha) {
  // Never too small for two copies of the largest object, except for a tiny
  // heap, which has no such objects.
  const size_t least = heap_bytes < Heap::kMinBytes
                           ? kUnitBytes
                           : 2 * kUnitBytes * UnitsFor(kMaxObjectBytes);
  const size_t wanted = static_cast<size_t>(heap_bytes * alpha);
  return kHeaderBytes + kUnitBytes +
         (std::max(least, wanted) + 4095) / 4096 * 4096;
}

absl::StatusOr<std::unique_ptr<UndoCopy>> CreateDynamicUndoCopy(
    const Heap* heap, Region* region) {
  if (region->size() < DynamicUndoCopyBytes(heap->region()->size(), 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a dynamic undo copy of ", region->size(),
                     " bytes; it must be at least ",
                     DynamicUndoCopyBytes(heap->region()->size(), 0)));
  }
  BlockHeader* all = heap_format::HeaderOf(region->base(), kFirstBlock);
  all->word =
      MakeWord(BlockState::kFree, (EndOf(*region) - kFirstBlock) / kUnitBytes);
  all->copy_of = 0;
  region->Persist(all, sizeof(*all));
  WriteUndoCopyHeader(*heap, Kind::kDynamic, region);
  auto undo_copy = absl::make_unique<DynamicUndoCopy>(heap, region);
  RETURN_IF_ERROR(undo_copy->Load());
  return std::unique_ptr<UndoCopy>(std::move(undo_copy));
}

absl::StatusOr<std::unique_ptr<UndoCopy>> OpenDynamicUndoCopy(const Heap* heap,
                                                              Region* region) {
  RETURN_IF_ERROR(CheckUndoCopyHeader(*heap, Kind::kDynamic, *region));
  auto undo_copy = absl::make_unique<DynamicUndoCopy>(heap, region);
  RETURN_IF_ERROR(undo_copy->Load());
  return std::unique_ptr<UndoCopy>(std::move(undo_copy));
}

}  // namespace kamino::engine
