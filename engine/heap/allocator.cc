#include "engine/heap/allocator.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "glog/logging.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::StateOf;
using heap_format::UnitsOf;

BlockHeader* Allocator::HeaderAt(ObjectId id) const {
  return reinterpret_cast<BlockHeader*>(region_->base() + id);
}

absl::Status Allocator::Walk() {
  absl::MutexLock lock(&mutex_);
  by_address_.clear();
  by_size_.clear();
  free_units_ = taken_ = 0;
  uint64_t at = begin_;
  while (at < end_) {
    const uint64_t word = HeaderAt(at)->word;
    const uint64_t units = UnitsOf(word);
    if (!IsBlock(word) || units > (end_ - at) / kUnitBytes) {
      return absl::DataLossError(
          absl::StrCat("the heap is damaged: no block begins at offset ", at));
    }
    if (StateOf(word) == BlockState::kFree) {
      Insert(at, units);
    } else {
      ++taken_;
    }
    at += units * kUnitBytes;
  }
  return absl::OkStatus();
}

void Allocator::Insert(ObjectId id, uint64_t units) {
  free_units_ += units;
  auto next = by_address_.lower_bound(id);
  if (next != by_address_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second * kUnitBytes == id) {
      id = previous->first;
      units += previous->second;
      by_size_.erase({previous->second, previous->first});
      by_address_.erase(previous);
    }
  }
  if (next != by_address_.end() && id + units * kUnitBytes == next->first) {
    units += next->second;
    by_size_.erase({next->second, next->first});
    by_address_.erase(next);
  }
  by_address_.emplace(id, units);
  by_size_.emplace(units, id);
}

void Allocator::Erase(std::map<ObjectId, uint64_t>::iterator extent) {
  free_units_ -= extent->second;
  by_size_.erase({extent->second, extent->first});
  by_address_.erase(extent);
}

void Allocator::WriteFree(ObjectId id, uint64_t units) {
  BlockHeader* header = HeaderAt(id);
  header->unused = 0;
  __atomic_store_n(&header->word, MakeWord(BlockState::kFree, units),
                   __ATOMIC_RELEASE);
  region_->Persist(header, sizeof(*header));
}

void Allocator::Carve(std::map<ObjectId, uint64_t>::iterator extent,
                      ObjectId id, uint64_t units) {
  const ObjectId start = extent->first;
  const uint64_t total = extent->second;
  const uint64_t before = (id - start) / kUnitBytes;
  const uint64_t after = total - before - units;
  // Only where an extent starts is what looks like a header sure to be one.
  const uint64_t first_units = before > 0 ? before : units;
  const bool first_is_right =
      HeaderAt(start)->word == MakeWord(BlockState::kFree, first_units);
  Erase(extent);
  // From the back: until a header is durable nothing points to it, and the one
  // that does then ends where it begins.
  if (after > 0) {
    WriteFree(id + units * kUnitBytes, after);
    Insert(id + units * kUnitBytes, after);
  }
  if (before > 0) {
    WriteFree(id, units);
    Insert(start, before);
  }
  if (!first_is_right) WriteFree(start, first_units);
  ++taken_;
}

absl::StatusOr<ObjectId> Allocator::Take(uint64_t units) {
  absl::MutexLock lock(&mutex_);
  const auto found = by_size_.lower_bound({units, 0});
  if (found == by_size_.end()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the heap is full: no room for an object of ",
                     units * kUnitBytes, " bytes, ", free_units_ * kUnitBytes,
                     " bytes are free in ", by_address_.size(), " pieces"));
  }
  const ObjectId id = found->second;
  Carve(by_address_.find(id), id, units);
  return id;
}

absl::Status Allocator::TakeAt(ObjectId id, uint64_t units) {
  absl::MutexLock lock(&mutex_);
  auto extent = by_address_.upper_bound(id);
  if (extent != by_address_.begin()) {
    --extent;
    const uint64_t end = extent->first + extent->second * kUnitBytes;
    if (id % kUnitBytes == 0 && units > 0 && id < end &&
        units <= (end - id) / kUnitBytes) {
      Carve(extent, id, units);
      return absl::OkStatus();
    }
  }
  return absl::DataLossError(absl::StrCat("diverged: the block at ", id, " of ",
                                          units * kUnitBytes,
                                          " bytes is not free here"));
}

void Allocator::Give(ObjectId id, uint64_t units) {
  absl::MutexLock lock(&mutex_);
  CHECK_GT(taken_, 0u);
  --taken_;
  Insert(id, units);
}

uint64_t Allocator::free_bytes() const {
  absl::MutexLock lock(&mutex_);
  return free_units_ * kUnitBytes;
}

uint64_t Allocator::blocks_taken() const {
  absl::MutexLock lock(&mutex_);
  return taken_;
}

}  // namespace kamino::engine
