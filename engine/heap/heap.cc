#include "engine/heap/heap.h"

#include <algorithm>
#include <cstring>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/allocator.h"
#include "engine/heap/superblock.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kLabelBytes;
using heap_format::kMinLogBytes;
using heap_format::kSuperblockBytes;
using heap_format::kUnitBytes;
using heap_format::PayloadBytes;
using heap_format::StateOf;
using heap_format::Superblock;
using heap_format::UnitsFor;
using heap_format::UnitsOf;

constexpr uint64_t kMaxLogBytes = 16u << 20;

BlockHeader* HeaderAt(std::byte* base, ObjectId id) {
  return heap_format::HeaderOf(base, id);
}

absl::StatusOr<std::unique_ptr<Heap>> FormatAndLoad(Region* region,
                                                    absl::string_view label,
                                                    size_t min_bytes,
                                                    size_t log_bytes) {
  RETURN_IF_ERROR(FormatHeap(region, label, min_bytes, log_bytes));
  ASSIGN_OR_RETURN(auto heap, Heap::Open(region));
  RETURN_IF_ERROR(heap->Load());
  return heap;
}

}  // namespace

Heap::Heap(Region* region, const Superblock& superblock)
    : region_(region),
      base_(region->base()),
      root_(superblock.root),
      objects_begin_(superblock.objects_offset),
      objects_end_(superblock.objects_offset + superblock.objects_bytes),
      states_(region, objects_begin_, objects_end_),
      allocator_(
          std::make_unique<Allocator>(region, objects_begin_, objects_end_)) {
  std::memcpy(uuid_.data(), superblock.uuid, uuid_.size());
  label_ =
      std::string(superblock.label, strnlen(superblock.label, kLabelBytes));
}

Heap::~Heap() = default;

absl::StatusOr<std::unique_ptr<Heap>> Heap::Create(Region* region,
                                                   absl::string_view label) {
  const uint64_t size = region->size();
  return FormatAndLoad(
      region, label, kMinBytes,
      std::min(kMaxLogBytes, size / 16 / kSuperblockBytes * kSuperblockBytes));
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::CreateWithLog(
    Region* region, absl::string_view label, size_t log_bytes) {
  CHECK(log_bytes % kSuperblockBytes == 0 && log_bytes >= kMinLogBytes &&
        log_bytes <= region->size() / 2);
  return FormatAndLoad(region, label, kMinTinyBytes, log_bytes);
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::Open(Region* region) {
  RETURN_IF_ERROR(CheckSuperblock(*region));
  return absl::WrapUnique(new Heap(region, SuperblockOf(*region)));
}

absl::Status Heap::Load() { return Load({}).status(); }

absl::StatusOr<Heap::Blocks> Heap::Load(absl::Span<const ObjectId> wanted) {
  Blocks found;
  auto next = wanted.begin();
  absl::Status walked = allocator_->Walk([&](ObjectId id, uint64_t word) {
    while (next != wanted.end() && *next < id) ++next;
    if (next == wanted.end() || *next != id) return;
    found[id] = {static_cast<uint32_t>(PayloadBytes(UnitsOf(word))),
                 StateOf(word) == BlockState::kAllocated};
  });
  if (!walked.ok()) return walked;
  return found;
}

absl::Span<std::byte> Heap::log_area() const {
  const Superblock& superblock = SuperblockOf(*region_);
  return {region_->base() + superblock.log_offset, superblock.log_bytes};
}

absl::StatusOr<absl::Span<std::byte>> Heap::Payload(ObjectId id) const {
  const absl::Span<std::byte> payload = FindPayload(id);
  if (!payload.empty()) return payload;
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

absl::Span<std::byte> Heap::FindPayload(ObjectId id) const {
  if (id % kUnitBytes == 0 && id >= objects_begin_ && id < objects_end_) {
    const uint64_t word =
        __atomic_load_n(&HeaderAt(base_, id)->word, __ATOMIC_ACQUIRE);
    if (IsBlock(word) && StateOf(word) == BlockState::kAllocated &&
        UnitsOf(word) <= (objects_end_ - id) / kUnitBytes) {
      return absl::MakeSpan(base_ + id, PayloadBytes(UnitsOf(word)));
    }
  }
  return {};
}

absl::Span<std::byte> Heap::BlockPayload(ObjectId id) const {
  const uint64_t word = HeaderAt(base_, id)->word;
  CHECK(IsBlock(word)) << "no block at " << id;
  return absl::MakeSpan(base_ + id, PayloadBytes(UnitsOf(word)));
}

absl::StatusOr<ObjectId> Heap::Reserve(uint32_t size, bool may_cut) {
  CHECK(size > 0 && size <= kMaxObjectBytes) << size;
  return allocator_->Take(SizeClass(UnitsFor(size)), may_cut);
}

void Heap::KeepReserve(uint64_t bytes) {
  allocator_->KeepReserve(bytes / kUnitBytes);
}

HeapReserve Heap::reserve() const {
  const Allocator::Reserve reserve = allocator_->reserve();
  return {reserve.kept * kUnitBytes, reserve.whole * kUnitBytes, reserve.cuts};
}

absl::Status Heap::ReserveAt(ObjectId id, uint32_t capacity) {
  const uint64_t units = UnitsFor(capacity);
  if (PayloadBytes(units) != capacity) {
    return absl::DataLossError(
        absl::StrCat("diverged: no block has a capacity of ", capacity));
  }
  return allocator_->TakeAt(id, units);
}

void Heap::Release(ObjectId id) {
  const uint64_t word = HeaderAt(base_, id)->word;
  CHECK(IsBlock(word) && StateOf(word) == BlockState::kFree)
      << "block at " << id << " is not free on media";
  allocator_->Give(id, UnitsOf(word));
}

std::vector<std::pair<size_t, size_t>> Heap::UnusedRanges(size_t bytes) const {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const auto& [id, units] :
       allocator_->WholeExtents(bytes / kUnitBytes + 1)) {
    ranges.emplace_back(id, id + PayloadBytes(units));
  }
  return ranges;
}

WalkMarks& Heap::marks() { return allocator_->marks(); }

HeapStats Heap::stats() const {
  HeapStats stats;
  stats.bytes_total = objects_end_ - objects_begin_;
  stats.bytes_used = stats.bytes_total - allocator_->free_bytes();
  stats.objects = allocator_->blocks_taken();
  return stats;
}

}  // namespace kamino::engine
