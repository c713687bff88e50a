#include "engine/heap/heap_tiling.h"

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::HeaderOf;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::StateOf;
using heap_format::UnitsOf;

uint64_t HeapTiling::WordAt(ObjectId id) const {
  return HeaderOf(region_->base(), id)->word;
}

absl::StatusOr<BlockMap> HeapTiling::AllocatedBlocks() const {
  BlockMap blocks(region_->size());
  for (ObjectId at = begin_; at < end_;) {
    const uint64_t word = WordAt(at);
    if (!IsBlock(word) || UnitsOf(word) > (end_ - at) / kUnitBytes) {
      return absl::DataLossError(
          absl::StrCat("the heap is damaged: no block begins at offset ", at));
    }
    if (StateOf(word) == BlockState::kAllocated) blocks.Set(at, true);
    at += UnitsOf(word) * kUnitBytes;
  }
  return blocks;
}

absl::Status HeapTiling::Retile(const BlockMap& allocated) {
  ObjectId at = begin_;
  for (size_t page = 0; page < allocated.pages(); ++page) {
    for (uint64_t bits = allocated.word(page); bits != 0; bits &= bits - 1) {
      const ObjectId id = BlockMap::IdOf(
          page * 64 + static_cast<size_t>(__builtin_ctzll(bits)));
      const bool follows = id >= at && id < end_;
      const uint64_t word = follows ? WordAt(id) : 0;
      if (!IsBlock(word) || StateOf(word) != BlockState::kAllocated ||
          UnitsOf(word) > (end_ - id) / kUnitBytes) {
        return absl::DataLossError(
            absl::StrCat("no object begins at offset ", id));
      }
      TileFree(at, id);
      at = id + UnitsOf(word) * kUnitBytes;
    }
  }
  TileFree(at, end_);
  return absl::OkStatus();
}

void HeapTiling::TileFree(ObjectId from, ObjectId to) {
  ObjectId at = from;
  while (at < to) {
    const uint64_t word = WordAt(at);
    if (!IsBlock(word) || StateOf(word) != BlockState::kFree ||
        UnitsOf(word) > (to - at) / kUnitBytes) {
      break;
    }
    at += UnitsOf(word) * kUnitBytes;
  }
  if (at == to) return;  // unchanged
  BlockHeader* const header = HeaderOf(region_->base(), from);
  header->word = MakeWord(BlockState::kFree, (to - from) / kUnitBytes);
  header->copy_of = 0;
  region_->Flush(header, sizeof(*header));
}

}  // namespace kamino::engine
