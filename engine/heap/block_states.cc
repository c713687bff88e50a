#include "engine/heap/block_states.h"

#include "absl/strings/str_cat.h"
#include "engine/heap/heap_format.h"
#include "glog/logging.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::HeaderOf;
using heap_format::IsBlock;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::UnitsFor;
using heap_format::UnitsOf;

void BlockStates::Store(ObjectId id, bool allocated) {
  BlockHeader* header = HeaderOf(region_->base(), id);
  CHECK(IsBlock(header->word)) << "no block at " << id;
  const BlockState state =
      allocated ? BlockState::kAllocated : BlockState::kFree;
  __atomic_store_n(&header->word, MakeWord(state, UnitsOf(header->word)),
                   __ATOMIC_RELEASE);
  if (changes_ != nullptr) changes_->Note(id, allocated);
}

void BlockStates::Flush(ObjectId id) {
  region_->Flush(HeaderOf(region_->base(), id), sizeof(BlockHeader));
}

absl::Status BlockStates::Recover(ObjectId id, uint32_t capacity,
                                  bool allocated) {
  const uint64_t units = UnitsFor(capacity);
  const bool within = id % kUnitBytes == 0 && id >= begin_ && id < end_ &&
                      units <= (end_ - id) / kUnitBytes;
  const uint64_t word = within ? HeaderOf(region_->base(), id)->word : 0;
  if (!IsBlock(word) || UnitsOf(word) != units) {
    return absl::DataLossError(
        absl::StrCat("the heap is damaged: an intent names a block at offset ",
                     id, " of ", capacity, " bytes that is not there"));
  }
  Store(id, allocated);
  Flush(id);
  return absl::OkStatus();
}

}  // namespace kamino::engine
