#include "engine/kamino/range_walk.h"

#include <algorithm>

#include "engine/heap/heap_format.h"
#include "engine/heap/walk_marks.h"
#include "engine/kamino/checksum.h"
#include "glog/logging.h"

namespace kamino::engine {

using heap_format::BlockState;
using heap_format::kUnitBytes;
using heap_format::StateOf;
using heap_format::UnitsOf;

namespace {

// The block in which the last reached range begins, and the last block of that
// range: so both that range and the next one are found at once. Not the first
// block after a range's start, before which new blocks may appear.
constexpr size_t kBegin = 0;
constexpr size_t kEnd = 1;

}  // namespace

RangeWalk::RangeWalk(Heap* heap, uint64_t range_bytes)
    : heap_(heap),
      range_bytes_(range_bytes),
      ranges_((heap->objects_end() - heap->root() + range_bytes - 1) /
              range_bytes) {
  CHECK(range_bytes > 0 && range_bytes % kUnitBytes == 0) << range_bytes;
}

ObjectId RangeWalk::Begin(uint64_t range) const {
  return std::min(heap_->root() + range * range_bytes_, heap_->objects_end());
}

uint64_t RangeWalk::RangeOf(ObjectId id) const {
  const ObjectId within =
      std::clamp(id, heap_->root(), heap_->objects_end() - 1);
  return (within - heap_->root()) / range_bytes_;
}

uint64_t RangeWalk::WordAt(ObjectId id) const {
  const uint64_t word =
      heap_format::HeaderOf(heap_->region()->base(), id)->word;
  const bool block = heap_format::IsBlock(word) &&
                     UnitsOf(word) <= (heap_->objects_end() - id) / kUnitBytes;
  return block ? word : 0;
}

bool RangeWalk::Reach(uint64_t range, size_t most_blocks) {
  const ObjectId begin = Begin(range);
  ObjectId at = heap_->marks().Get(kEnd);
  if (at > begin) at = heap_->marks().Get(kBegin);
  if (at > begin) at = heap_->root();
  bool found = false;
  for (size_t i = 0; i <= most_blocks; ++i) {
    const uint64_t word = WordAt(at);
    const ObjectId next = at + UnitsOf(word) * kUnitBytes;
    // The digest shows if the walk cannot continue.
    found = word == 0 || next > begin;
    if (found || i == most_blocks) break;
    at = next;
  }
  heap_->marks().Set(kBegin, at);
  if (heap_->marks().Get(kEnd) < at) heap_->marks().Set(kEnd, at);
  return found;
}

uint64_t RangeWalk::Digest(uint64_t range) {
  const ObjectId begin = Begin(range);
  const ObjectId end = Begin(range + 1);
  ObjectId at = heap_->marks().Get(kBegin);
  ObjectId last = at;
  uint64_t digest = 0;
  while (at < end) {
    const uint64_t word = WordAt(at);
    if (word == 0) {
      return std::max<uint64_t>(1, FoldHash(FoldHash(1, at), range));
    }
    if (at >= begin && StateOf(word) == BlockState::kAllocated) {
      const absl::Span<const std::byte> payload(
          heap_->region()->base() + at,
          heap_format::PayloadBytes(UnitsOf(word)));
      digest =
          FoldHash(FoldHash(FoldHash(digest, at), word), Checksum(payload));
    }
    last = at;
    at += UnitsOf(word) * kUnitBytes;
  }
  heap_->marks().Set(kEnd, last);
  return std::max<uint64_t>(1, digest);
}

}  // namespace kamino::engine
