#include "engine/heap/allocator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::StateOf;
using heap_format::UnitsFor;
using heap_format::UnitsOf;

uint64_t SizeClass(uint64_t units) {
  constexpr uint64_t kLargest = UnitsFor(kMaxObjectBytes);
  CHECK(units > 0 && units <= kLargest) << units;
  // Sizes up to `limit` are multiples of `step`: 16 of them in a doubling.
  uint64_t limit = 32;
  uint64_t step = 1;
  while (units > limit) {
    limit *= 2;
    step *= 2;
  }
  return std::min((units + step - 1) / step * step, kLargest);
}

BlockHeader* Allocator::HeaderAt(ObjectId id) const {
  return heap_format::HeaderOf(region_->base(), id);
}

absl::Status Allocator::Walk(
    absl::FunctionRef<void(ObjectId, uint64_t)> visit) {
  MutexLock lock(&mutex_);
  extents_.Clear();
  for (std::vector<ObjectId>& blocks : ready_) blocks.clear();
  free_units_ = taken_ = 0;
  marks_.Reset(begin_);
  uint64_t at = begin_;
  while (at < end_) {
    const uint64_t word = HeaderAt(at)->word;
    const uint64_t units = UnitsOf(word);
    if (!IsBlock(word) || units > (end_ - at) / kUnitBytes) {
      return absl::DataLossError(
          absl::StrCat("the heap is damaged: no block begins at offset ", at));
    }
    visit(at, word);
    if (StateOf(word) == BlockState::kFree) {
      extents_.Insert(at, units);
      free_units_ += units;
    } else {
      ++taken_;
    }
    at += units * kUnitBytes;
  }
  return absl::OkStatus();
}

bool Allocator::Cuts(uint64_t size, uint64_t units) const {
  // The space left free would be less than the reserve.
  if (free_units_ < kept_ + units) return true;
  // The reserve has no extents this small.
  if (size < FreeExtents::kWholeUnits) return false;
  return extents_.whole_units() - size + FreeExtents::Whole(size - units) <
         kept_;
}

uint64_t Allocator::BlocksToCut(uint64_t size, uint64_t units) const {
  if (units <= kMostSlabUnits && !ready_[units].empty()) return 1;
  const uint64_t slab = std::min(BlocksPerSlab(units), size / units);
  // Ready blocks are too small to count as whole extents of the reserve.
  return Cuts(size, slab * units) ? 1 : slab;
}

void Allocator::StoreFree(ObjectId id, uint64_t units) {
  BlockHeader* header = HeaderAt(id);
  header->copy_of = 0;
  __atomic_store_n(&header->word, MakeWord(BlockState::kFree, units),
                   __ATOMIC_RELEASE);
  region_->Flush(header, sizeof(*header));
}

void Allocator::Carve(Extent extent, ObjectId id, uint64_t units) {
  const ObjectId start = extent->first;
  const uint64_t total = extent->second;
  const uint64_t before = (id - start) / kUnitBytes;
  const uint64_t blocks = BlocksToCut(total - before, units);
  const uint64_t after = total - before - blocks * units;
  const ObjectId rest = id + blocks * units * kUnitBytes;
  extents_.Erase(extent);
  marks_.Merge(start, start + total * kUnitBytes);

  // An extent's start is the start of a block, so this is a header.
  if (HeaderAt(start)->word != MakeWord(BlockState::kFree, total)) {
    StoreFree(start, total);
    region_->Drain();
  }
  const uint64_t first = before > 0 ? before : units;
  if (first < total) {
    // No walk can be in this space, so the order does not matter.
    for (uint64_t i = 0; i < blocks; ++i) {
      const ObjectId block = id + i * units * kUnitBytes;
      if (block != start) StoreFree(block, units);
    }
    if (after > 0) StoreFree(rest, after);
    region_->Drain();
    StoreFree(start, first);
    region_->Drain();
  }

  if (before > 0) extents_.Insert(start, before);
  if (after > 0) extents_.Insert(rest, after);
  for (uint64_t i = 1; i < blocks; ++i) {
    // The lowest is taken next.
    ready_[units].push_back(id + (blocks - i) * units * kUnitBytes);
  }
  CountTaken(units);
}

void Allocator::CountTaken(uint64_t units) {
  free_units_ -= units;
  ++taken_;
}

bool Allocator::TakeReady(ObjectId id, uint64_t units) {
  if (units > kMostSlabUnits) return false;
  std::vector<ObjectId>& blocks = ready_[units];
  const auto found = std::find(blocks.begin(), blocks.end(), id);
  if (found == blocks.end()) return false;
  blocks.erase(found);
  CountTaken(units);
  return true;
}

void Allocator::MergeReady() {
  for (uint64_t units = 1; units <= kMostSlabUnits; ++units) {
    for (ObjectId id : ready_[units]) extents_.Insert(id, units);
    ready_[units].clear();
  }
}

absl::Status Allocator::Full(uint64_t units) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the heap is full: no room for an object of ", units * kUnitBytes,
      " bytes, ", free_units_ * kUnitBytes, " bytes are free in ",
      extents_.by_address().size(), " pieces"));
}

absl::StatusOr<ObjectId> Allocator::Take(uint64_t units, bool may_cut) {
  MutexLock lock(&mutex_);
  const bool all_is_reserve = free_units_ < kept_ + units;
  if (all_is_reserve && !may_cut) return Full(units);
  if (units <= kMostSlabUnits && !ready_[units].empty()) {
    if (all_is_reserve) ++cuts_;
    const ObjectId id = ready_[units].back();
    ready_[units].pop_back();
    CountTaken(units);
    return id;
  }
  Extent extent = extents_.Fit(units);
  if (extent == extents_.end() || Cuts(extent->second, units)) {
    MergeReady();
    extent = extents_.Fit(units);
  }
  if (extent == extents_.end()) return Full(units);
  if (Cuts(extent->second, units)) {
    if (!may_cut) return Full(units);
    ++cuts_;
  }
  const ObjectId id = extent->first;
  Carve(extent, id, units);
  return id;
}

absl::Status Allocator::TakeAt(ObjectId id, uint64_t units) {
  MutexLock lock(&mutex_);
  if (id % kUnitBytes == 0 && units > 0) {
    if (TakeReady(id, units)) return absl::OkStatus();
    Extent extent = extents_.Find(id, units);
    if (extent == extents_.end()) {
      MergeReady();
      extent = extents_.Find(id, units);
    }
    if (extent != extents_.end()) {
      Carve(extent, id, units);
      return absl::OkStatus();
    }
  }
  return absl::DataLossError(absl::StrCat("diverged: the block at ", id, " of ",
                                          units * kUnitBytes,
                                          " bytes is not free here"));
}

void Allocator::Give(ObjectId id, uint64_t units) {
  MutexLock lock(&mutex_);
  CHECK_GT(taken_, 0u);
  --taken_;
  free_units_ += units;
  // A neighbour may be in use.
  const uint64_t slab = BlocksPerSlab(units);
  // While the reserve lacks extents, freed blocks merge with their neighbours.
  const bool lacks = extents_.whole_units() < kept_;
  if (slab > 1 && !lacks && ready_[units].size() < 2 * slab) {
    ready_[units].push_back(id);
    return;
  }
  extents_.Insert(id, units);
}

void Allocator::KeepReserve(uint64_t units) {
  MutexLock lock(&mutex_);
  kept_ = units;
}

Allocator::Reserve Allocator::reserve() const {
  MutexLock lock(&mutex_);
  return {kept_, extents_.whole_units(), cuts_};
}

std::vector<std::pair<ObjectId, uint64_t>> Allocator::WholeExtents(
    uint64_t units) const {
  std::vector<std::pair<ObjectId, uint64_t>> whole;
  MutexLock lock(&mutex_);
  for (const auto& [id, size] : extents_.by_address()) {
    const uint64_t word = HeaderAt(id)->word;
    if (size >= units && StateOf(word) == BlockState::kFree &&
        UnitsOf(word) == size) {
      whole.emplace_back(id, size);
    }
  }
  return whole;
}

uint64_t Allocator::free_bytes() const {
  MutexLock lock(&mutex_);
  return free_units_ * kUnitBytes;
}

uint64_t Allocator::blocks_taken() const {
  MutexLock lock(&mutex_);
  return taken_;
}

}  // namespace kamino::engine
