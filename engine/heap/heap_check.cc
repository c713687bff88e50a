#include "engine/heap/heap_check.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/heap.h"
#include "engine/heap/heap_format.h"

namespace kamino::engine {
namespace {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::PayloadBytes;
using heap_format::StateOf;
using heap_format::Superblock;
using heap_format::UnitsOf;

constexpr uint64_t kReached = 1;

}  // namespace

uint64_t CheckedBlocks::WordAt(ObjectId id) const {
  uint64_t word = 0;
  std::memcpy(&word, region_->base() + id - sizeof(BlockHeader), sizeof(word));
  return word;
}

bool CheckedBlocks::CanBeBlock(ObjectId id) const {
  const uint64_t word = WordAt(id);
  return IsBlock(word) && UnitsOf(word) <= (end_ - id) / kUnitBytes;
}

void CheckedBlocks::Walk(const Finding& found) {
  const auto offset_of = [](ObjectId id) { return id - sizeof(BlockHeader); };
  for (ObjectId id = begin_; id < end_;) {
    if (!CanBeBlock(id)) {
      const ObjectId lost = id;
      while (id < end_ && !CanBeBlock(id)) id += kUnitBytes;
      found(offset_of(lost),
            absl::StrCat("no valid block header in ", id - lost, " bytes"));
      continue;
    }
    BlockHeader header;
    std::memcpy(&header, region_->base() + offset_of(id), sizeof(header));
    const uint64_t units = UnitsOf(header.word);
    if (header.copy_of != 0) {
      found(offset_of(id),
            absl::StrCat("the header of block ", id, " has copy_of ",
                         header.copy_of, "; in a heap it is 0"));
    }
    if (StateOf(header.word) == BlockState::kAllocated) {
      blocks_.push_back(id);
      ++allocated_;
      allocated_bytes_ += units * kUnitBytes;
    } else {
      ++free_;
    }
    id += units * kUnitBytes;
  }
}

uint64_t* CheckedBlocks::Find(ObjectId id) {
  if (id % kUnitBytes != 0) return nullptr;
  const auto at = std::lower_bound(blocks_.begin(), blocks_.end(), id,
                                   [](uint64_t block, ObjectId wanted) {
                                     return (block & ~kReached) < wanted;
                                   });
  if (at == blocks_.end() || (*at & ~kReached) != id) return nullptr;
  return &*at;
}

absl::StatusOr<absl::Span<const std::byte>> CheckedBlocks::Read(ObjectId id) {
  if (Find(id) == nullptr) {
    return absl::NotFoundError(absl::StrCat("no object has the id ", id));
  }
  return absl::Span<const std::byte>(region_->base() + id,
                                     PayloadBytes(UnitsOf(WordAt(id))));
}

absl::StatusOr<absl::Span<const std::byte>> CheckedBlocks::Reach(ObjectId id) {
  ASSIGN_OR_RETURN(const auto payload, Read(id));
  uint64_t* const block = Find(id);
  if ((*block & kReached) != 0) {
    return absl::AlreadyExistsError(
        absl::StrCat("object ", id, " is referenced twice"));
  }
  *block |= kReached;
  return payload;
}

void CheckedBlocks::VisitUnreached(
    const std::function<void(ObjectId, uint64_t)>& visit) const {
  for (uint64_t block : blocks_) {
    if ((block & kReached) != 0) continue;
    visit(block, UnitsOf(WordAt(block)) * kUnitBytes);
  }
}

absl::StatusOr<HeapLayout> ReadHeapLayout(Region* region) {
  ASSIGN_OR_RETURN(const auto heap, Heap::Open(region));
  Superblock superblock;
  std::memcpy(&superblock, region->base(), sizeof(superblock));
  HeapLayout layout;
  layout.label = heap->label();
  layout.log_offset = superblock.log_offset;
  layout.log_bytes = superblock.log_bytes;
  layout.objects_begin = superblock.objects_offset;
  layout.objects_end = superblock.objects_offset + superblock.objects_bytes;
  layout.root = superblock.root;
  layout.uuid = heap->uuid();
  return layout;
}

}  // namespace kamino::engine
