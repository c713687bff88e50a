// kamino-dynamic (section 4.2): copies of the objects written last, in a
// bounded region.
//
// The paper keeps a persistent hash table from object to copy. Here every copy
// carries its object's id and the table is rebuilt from the copies at open: the
// same lookup, without a second structure to keep durable in the critical path.
//
// A copy's content and id are durable before its block says allocated; a block
// says free durably before its space holds another copy.
#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <list>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/heap/allocator.h"
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

uint64_t EndOf(const Region& region) {
  return region.size() / kUnitBytes * kUnitBytes;
}

class DynamicUndoCopy final : public UndoCopy {
 public:
  DynamicUndoCopy(const Heap* heap, Region* region)
      : heap_(heap),
        region_(region),
        allocator_(region, kFirstBlock, EndOf(*region)) {}

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
  Region* region() const override { return region_; }
  void SetEvictionListener(EvictionListener listener) override {
    MutexLock lock(&mutex_);
    eviction_listener_ = std::move(listener);
  }
  UndoCopyStats stats() const override;

 private:
  struct CopyOf {
    uint64_t block = 0;  // offset of its bytes in the undo copy
    uint64_t units = 0;
    uint32_t pins = 0;
    bool dropped = false;
    std::list<ObjectId>::iterator recency;
  };

  BlockHeader* HeaderAt(uint64_t block) const {
    return heap_format::HeaderOf(region_->base(), block);
  }
  std::byte* BytesOf(const CopyOf& copy) const {
    return region_->base() + copy.block;
  }
  void SetState(const CopyOf& copy, BlockState state) {
    BlockHeader* header = HeaderAt(copy.block);
    __atomic_store_n(&header->word, MakeWord(state, copy.units),
                     __ATOMIC_RELEASE);
    region_->Flush(header, sizeof(*header));
  }

  void Touch(CopyOf* copy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    recency_.splice(recency_.begin(), recency_, copy->recency);
  }
  // The object's copy, pinned; null if there is none.
  std::byte* PinExisting(ObjectId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t UnitsOfCopy(ObjectId id) const {
    return UnitsFor(heap_->BlockPayload(id).size());
  }
  // A pinned block with the object's bytes, which are not durable yet, and a
  // header that says free. Without room it evicts copies of at least `to_evict`
  // units at a time.
  absl::StatusOr<CopyOf*> Make(ObjectId id, uint64_t to_evict)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Evicts unpinned copies, the least recently used first, until they have
  // freed `units` or none is left. False: nothing was evicted.
  bool Evict(uint64_t units) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Heap* const heap_;
  Region* const region_;
  Allocator allocator_;

  mutable Mutex mutex_;
  absl::flat_hash_map<ObjectId, CopyOf> copies_ ABSL_GUARDED_BY(mutex_);
  std::list<ObjectId> recency_ ABSL_GUARDED_BY(mutex_);  // latest first
  EvictionListener eviction_listener_ ABSL_GUARDED_BY(mutex_);
  UndoCopyStats counters_ ABSL_GUARDED_BY(mutex_);
};

absl::Status DynamicUndoCopy::Load() {
  MutexLock lock(&mutex_);
  ObjectId twice = kNullObject;
  absl::Status walked = allocator_.Walk([&](uint64_t block, uint64_t word) {
    mutex_.AssertHeld();
    if (StateOf(word) != BlockState::kAllocated) return;
    const ObjectId id = HeaderAt(block)->copy_of;
    recency_.push_back(id);
    const CopyOf copy{block, UnitsOf(word), 0, false,
                      std::prev(recency_.end())};
    if (!copies_.emplace(id, copy).second) twice = id;
  });
  if (!walked.ok()) {
    return absl::DataLossError(
        "the undo copy is damaged: its blocks do not cover it");
  }
  if (twice == kNullObject) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the undo copy is damaged: two copies of object ", twice));
}

bool DynamicUndoCopy::Evict(uint64_t units) {
  std::vector<ObjectId> victims;
  uint64_t found = 0;
  for (auto victim = recency_.rbegin();
       victim != recency_.rend() && found < units; ++victim) {
    const CopyOf& copy = copies_.at(*victim);
    if (copy.dropped) continue;
    if (copy.pins > 0) {
      Reached(Branch::kCopyPinnedStays);
      continue;
    }
    victims.push_back(*victim);
    found += copy.units;
  }
  if (victims.empty()) return false;
  if (eviction_listener_) eviction_listener_(victims);
  for (ObjectId id : victims) SetState(copies_.at(id), BlockState::kFree);
  region_->Drain();
  for (ObjectId id : victims) {
    const auto victim = copies_.find(id);
    allocator_.Give(victim->second.block, victim->second.units);
    recency_.erase(victim->second.recency);
    copies_.erase(victim);
    ++counters_.evictions;
    Reached(Branch::kCopyEvicted);
  }
  return true;
}

absl::StatusOr<DynamicUndoCopy::CopyOf*> DynamicUndoCopy::Make(
    ObjectId id, uint64_t to_evict) {
  Reached(Branch::kCopyMade);
  ++counters_.misses;
  const absl::Span<std::byte> payload = heap_->BlockPayload(id);
  const uint64_t units = UnitsOfCopy(id);
  auto block = allocator_.Take(units);
  while (!block.ok() && Evict(to_evict)) block = allocator_.Take(units);
  if (!block.ok()) {
    Reached(Branch::kUndoCopyFull);
    return ResourceError(
        Resource::kUndoCopy,
        absl::StrCat("the undo copy has no room for object ", id, " of ",
                     payload.size(),
                     " bytes: all its copies are of locked objects"));
  }
  CopyOf copy;
  copy.block = *block;
  copy.units = units;
  copy.pins = 1;
  HeaderAt(copy.block)->copy_of = id;
  region_->Flush(HeaderAt(copy.block), sizeof(BlockHeader));
  region_->CopyFlush(BytesOf(copy), payload.data(), payload.size());
  recency_.push_front(id);
  copy.recency = recency_.begin();
  return &copies_.emplace(id, copy).first->second;
}

std::byte* DynamicUndoCopy::PinExisting(ObjectId id) {
  const auto found = copies_.find(id);
  if (found == copies_.end()) return nullptr;
  Reached(Branch::kCopyThere);
  ++counters_.hits;
  ++found->second.pins;
  Touch(&found->second);
  return BytesOf(found->second);
}

absl::StatusOr<std::byte*> DynamicUndoCopy::EnsureCopy(ObjectId id) {
  MutexLock lock(&mutex_);
  if (std::byte* there = PinExisting(id); there != nullptr) return there;
  ASSIGN_OR_RETURN(auto copy, Make(id, /*to_evict=*/1));
  region_->Drain();
  SetState(*copy, BlockState::kAllocated);
  region_->Drain();
  return BytesOf(*copy);
}

std::vector<std::byte*> DynamicUndoCopy::EnsureCopies(
    absl::Span<const ObjectId> ids) {
  MutexLock lock(&mutex_);
  std::vector<std::byte*> copies;
  uint64_t lacking = 0;  // units of those that have no copy yet
  // Existing copies are pinned first, so that making the others cannot evict
  // them.
  for (ObjectId id : ids) {
    copies.push_back(PinExisting(id));
    if (copies.back() == nullptr) lacking += UnitsOfCopy(id);
  }
  std::vector<ObjectId> made;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (copies[i] != nullptr) continue;
    const auto copy = Make(ids[i], lacking);
    lacking -= UnitsOfCopy(ids[i]);
    if (!copy.ok()) continue;
    made.push_back(ids[i]);
    copies[i] = BytesOf(**copy);
  }
  if (made.empty()) return copies;
  region_->Drain();
  for (ObjectId id : made) SetState(copies_.at(id), BlockState::kAllocated);
  region_->Drain();
  return copies;
}

absl::StatusOr<absl::Span<std::byte>> DynamicUndoCopy::Copy(ObjectId id) {
  MutexLock lock(&mutex_);
  const auto found = copies_.find(id);
  if (found == copies_.end()) {
    return absl::DataLossError(
        absl::StrCat("the undo copy has no copy of object ", id));
  }
  return absl::MakeSpan(BytesOf(found->second),
                        heap_format::PayloadBytes(found->second.units));
}

// It is not evicted until then: its space is given back once, by Unpin.
void DynamicUndoCopy::Drop(ObjectId id) {
  MutexLock lock(&mutex_);
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  SetState(found->second, BlockState::kFree);
  Reached(Branch::kCopyDropped);
  found->second.dropped = true;
}

void DynamicUndoCopy::Unpin(ObjectId id) {
  MutexLock lock(&mutex_);
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  CopyOf& copy = found->second;
  if (!copy.dropped) {
    CHECK_GT(copy.pins, 0u);
    --copy.pins;
    return;
  }
  allocator_.Give(copy.block, copy.units);
  recency_.erase(copy.recency);
  copies_.erase(found);
}

void DynamicUndoCopy::EvictAll() {
  MutexLock lock(&mutex_);
  Evict(UINT64_MAX);
}

UndoCopyStats DynamicUndoCopy::stats() const {
  MutexLock lock(&mutex_);
  UndoCopyStats stats = counters_;
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
