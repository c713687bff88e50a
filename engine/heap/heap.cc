#include "engine/heap/heap.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/heap/allocator.h"
#include "glog/logging.h"

namespace kamino::engine {
namespace {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::IsBlock;
using heap_format::kHeapMagic;
using heap_format::kHeapVersion;
using heap_format::kLabelBytes;
using heap_format::kMinLogBytes;
using heap_format::kSuperblockBytes;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::PayloadBytes;
using heap_format::StateOf;
using heap_format::Superblock;
using heap_format::UnitsFor;
using heap_format::UnitsOf;

constexpr uint64_t kMaxLogBytes = 16u << 20;

uint64_t ChecksumOf(const Superblock& superblock) {
  return XXH3_64bits(&superblock, offsetof(Superblock, checksum));
}

const Superblock& SuperblockOf(const Region& region) {
  return *reinterpret_cast<const Superblock*>(region.base());
}

BlockHeader* HeaderAt(const Region& region, ObjectId id) {
  return heap_format::HeaderOf(region.base(), id);
}

void FillUuid(uint8_t (&uuid)[16]) {
  std::random_device random;
  for (uint8_t& byte : uuid) byte = static_cast<uint8_t>(random());
}

Superblock Layout(uint64_t size, absl::string_view label, uint64_t log_bytes) {
  Superblock superblock{};
  superblock.magic = kHeapMagic;
  superblock.version = kHeapVersion;
  superblock.size = size;
  FillUuid(superblock.uuid);
  std::memcpy(superblock.label, label.data(), label.size());
  superblock.log_offset = kSuperblockBytes;
  superblock.log_bytes = log_bytes;
  superblock.objects_offset =
      superblock.log_offset + superblock.log_bytes + kUnitBytes;
  superblock.objects_bytes =
      (size - superblock.objects_offset) / kUnitBytes * kUnitBytes;
  superblock.root = superblock.objects_offset;
  superblock.checksum = ChecksumOf(superblock);
  return superblock;
}

absl::Status CheckSuperblock(const Region& region) {
  if (region.size() < 4 * kSuperblockBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat("not a Kamino heap: only ", region.size(), " bytes long"));
  }
  const Superblock& superblock = SuperblockOf(region);
  if (superblock.magic != kHeapMagic) {
    return absl::FailedPreconditionError("not a Kamino heap: magic is missing");
  }
  if (superblock.version != kHeapVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("heap format is version ", superblock.version,
                     "; this program reads version ", kHeapVersion));
  }
  if (superblock.checksum != ChecksumOf(superblock)) {
    return absl::DataLossError("the heap's superblock is damaged: checksum");
  }
  if (superblock.size != region.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the heap was made with ", superblock.size, " bytes and has ",
        region.size(), " now: truncated or grown"));
  }
  // A checksum does not show these errors, but everything else relies on these
  // fields.
  const uint64_t size = superblock.size;
  if (superblock.log_offset != kSuperblockBytes ||
      superblock.log_bytes < kMinLogBytes ||
      superblock.log_bytes % kSuperblockBytes != 0 ||
      superblock.log_bytes >= size - 2 * kSuperblockBytes ||
      superblock.objects_offset !=
          kSuperblockBytes + superblock.log_bytes + kUnitBytes ||
      superblock.objects_bytes !=
          (size - superblock.objects_offset) / kUnitBytes * kUnitBytes ||
      superblock.root != superblock.objects_offset) {
    return absl::DataLossError("the heap's superblock is damaged: layout");
  }
  return absl::OkStatus();
}

}  // namespace

Heap::Heap(Region* region) : region_(region) {
  const Superblock& superblock = SuperblockOf(*region);
  std::memcpy(uuid_.data(), superblock.uuid, uuid_.size());
  label_ =
      std::string(superblock.label, strnlen(superblock.label, kLabelBytes));
  root_ = superblock.root;
  objects_begin_ = superblock.objects_offset;
  objects_end_ = superblock.objects_offset + superblock.objects_bytes;
  allocator_ =
      std::make_unique<Allocator>(region, objects_begin_, objects_end_);
}

Heap::~Heap() = default;

absl::StatusOr<std::unique_ptr<Heap>> Heap::Create(Region* region,
                                                   absl::string_view label) {
  const uint64_t size = region->size();
  return CreateIn(
      region, label, kMinBytes,
      std::min(kMaxLogBytes, size / 16 / kSuperblockBytes * kSuperblockBytes));
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::CreateWithLog(
    Region* region, absl::string_view label, size_t log_bytes) {
  CHECK(log_bytes % kSuperblockBytes == 0 && log_bytes >= kMinLogBytes &&
        log_bytes <= region->size() / 2);
  return CreateIn(region, label, kMinBytes, log_bytes);
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::CreateTiny(Region* region,
                                                       absl::string_view label,
                                                       size_t log_bytes) {
  CHECK(log_bytes % kSuperblockBytes == 0 && log_bytes >= kMinLogBytes &&
        log_bytes <= region->size() / 2);
  return CreateIn(region, label, kMinTinyBytes, log_bytes);
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::CreateIn(Region* region,
                                                     absl::string_view label,
                                                     size_t min_bytes,
                                                     size_t log_bytes) {
  if (region->size() < min_bytes || region->size() % kUnitBytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a heap of ", region->size(), " bytes: it must be at least ", min_bytes,
        " and a multiple of ", kUnitBytes));
  }
  if (label.size() >= kLabelBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the heap's label has ", label.size(), " bytes; at most ",
                     kLabelBytes - 1));
  }
  const Superblock superblock = Layout(region->size(), label, log_bytes);
  // The superblock last, and an older one first: a heap that opens is whole.
  std::memset(region->base(), 0, kSuperblockBytes);
  region->Persist(region->base(), kSuperblockBytes);
  region->ZeroFlush(region->base() + superblock.log_offset,
                    superblock.log_bytes);
  const uint64_t root_units = UnitsFor(kRootBytes);
  BlockHeader* root = HeaderAt(*region, superblock.root);
  root->word = MakeWord(BlockState::kAllocated, root_units);
  root->copy_of = 0;
  std::memset(root + 1, 0, PayloadBytes(root_units));
  region->Flush(root, root_units * kUnitBytes);
  BlockHeader* rest =
      HeaderAt(*region, superblock.root + root_units * kUnitBytes);
  rest->word = MakeWord(BlockState::kFree,
                        superblock.objects_bytes / kUnitBytes - root_units);
  rest->copy_of = 0;
  region->Persist(rest, sizeof(*rest));
  region->CopyFlush(region->base(), &superblock, sizeof(superblock));
  region->Drain();

  auto heap = absl::WrapUnique(new Heap(region));
  RETURN_IF_ERROR(heap->Load());
  return heap;
}

absl::StatusOr<std::unique_ptr<Heap>> Heap::Open(Region* region) {
  RETURN_IF_ERROR(CheckSuperblock(*region));
  return absl::WrapUnique(new Heap(region));
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
  if (id % kUnitBytes == 0 && id >= objects_begin_ && id < objects_end_) {
    const uint64_t word =
        __atomic_load_n(&HeaderAt(*region_, id)->word, __ATOMIC_ACQUIRE);
    if (IsBlock(word) && StateOf(word) == BlockState::kAllocated &&
        UnitsOf(word) <= (objects_end_ - id) / kUnitBytes) {
      return absl::MakeSpan(region_->base() + id, PayloadBytes(UnitsOf(word)));
    }
  }
  return absl::NotFoundError(absl::StrCat("no object has the id ", id));
}

absl::Span<std::byte> Heap::BlockPayload(ObjectId id) const {
  const uint64_t word = HeaderAt(*region_, id)->word;
  CHECK(IsBlock(word)) << "no block at " << id;
  return absl::MakeSpan(region_->base() + id, PayloadBytes(UnitsOf(word)));
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
  const uint64_t word = HeaderAt(*region_, id)->word;
  CHECK(IsBlock(word) && StateOf(word) == BlockState::kFree)
      << "block at " << id << " is not free on media";
  allocator_->Give(id, UnitsOf(word));
}

void Heap::StoreState(ObjectId id, bool allocated) {
  BlockHeader* header = HeaderAt(*region_, id);
  CHECK(IsBlock(header->word)) << "no block at " << id;
  const BlockState state =
      allocated ? BlockState::kAllocated : BlockState::kFree;
  __atomic_store_n(&header->word, MakeWord(state, UnitsOf(header->word)),
                   __ATOMIC_RELEASE);
  if (changes_ != nullptr) changes_->Note(id, allocated);
}

void Heap::FlushState(ObjectId id) {
  region_->Flush(HeaderAt(*region_, id), sizeof(BlockHeader));
}

void Heap::MarkAllocated(ObjectId id) {
  StoreState(id, true);
  FlushState(id);
}

void Heap::MarkFree(ObjectId id) {
  StoreState(id, false);
  FlushState(id);
}

absl::Status Heap::RecoverState(ObjectId id, uint32_t capacity,
                                bool allocated) {
  const uint64_t units = UnitsFor(capacity);
  const bool within = id % kUnitBytes == 0 && id >= objects_begin_ &&
                      id < objects_end_ &&
                      units <= (objects_end_ - id) / kUnitBytes;
  const uint64_t word = within ? HeaderAt(*region_, id)->word : 0;
  if (!IsBlock(word) || UnitsOf(word) != units) {
    return absl::DataLossError(
        absl::StrCat("the heap is damaged: an intent names a block at offset ",
                     id, " of ", capacity, " bytes that is not there"));
  }
  StoreState(id, allocated);
  FlushState(id);
  return absl::OkStatus();
}

std::vector<std::pair<size_t, size_t>> Heap::UnusedRanges(size_t bytes) const {
  std::vector<std::pair<size_t, size_t>> ranges;
  for (const auto& [id, units] :
       allocator_->WholeExtents(bytes / kUnitBytes + 1)) {
    ranges.emplace_back(id, id + PayloadBytes(units));
  }
  return ranges;
}

absl::StatusOr<BlockMap> Heap::AllocatedBlocks() const {
  BlockMap blocks(region_->size());
  for (ObjectId at = objects_begin_; at < objects_end_;) {
    const uint64_t word = HeaderAt(*region_, at)->word;
    if (!IsBlock(word) || UnitsOf(word) > (objects_end_ - at) / kUnitBytes) {
      return absl::DataLossError(
          absl::StrCat("the heap is damaged: no block begins at offset ", at));
    }
    if (StateOf(word) == BlockState::kAllocated) blocks.Set(at, true);
    at += UnitsOf(word) * kUnitBytes;
  }
  return blocks;
}

absl::Status Heap::Retile(const BlockMap& allocated) {
  ObjectId at = objects_begin_;
  for (size_t page = 0; page < allocated.pages(); ++page) {
    for (uint64_t bits = allocated.word(page); bits != 0; bits &= bits - 1) {
      const ObjectId id = BlockMap::IdOf(
          page * 64 + static_cast<size_t>(__builtin_ctzll(bits)));
      const bool follows = id >= at && id < objects_end_;
      const uint64_t word = follows ? HeaderAt(*region_, id)->word : 0;
      if (!IsBlock(word) || StateOf(word) != BlockState::kAllocated ||
          UnitsOf(word) > (objects_end_ - id) / kUnitBytes) {
        return absl::DataLossError(
            absl::StrCat("no object begins at offset ", id));
      }
      TileFree(at, id);
      at = id + UnitsOf(word) * kUnitBytes;
    }
  }
  TileFree(at, objects_end_);
  return absl::OkStatus();
}

void Heap::TileFree(ObjectId from, ObjectId to) {
  ObjectId at = from;
  while (at < to) {
    const uint64_t word = HeaderAt(*region_, at)->word;
    if (!IsBlock(word) || StateOf(word) != BlockState::kFree ||
        UnitsOf(word) > (to - at) / kUnitBytes) {
      break;
    }
    at += UnitsOf(word) * kUnitBytes;
  }
  if (at == to) return;  // unchanged
  BlockHeader* const header = HeaderAt(*region_, from);
  header->word = MakeWord(BlockState::kFree, (to - from) / kUnitBytes);
  header->copy_of = 0;
  region_->Flush(header, sizeof(*header));
}

void Heap::SetMark(size_t which, ObjectId id) {
  allocator_->SetMark(which, id);
}

ObjectId Heap::mark(size_t which) const { return allocator_->mark(which); }

HeapStats Heap::stats() const {
  HeapStats stats;
  stats.bytes_total = objects_end_ - objects_begin_;
  stats.bytes_used = stats.bytes_total - allocator_->free_bytes();
  stats.objects = allocator_->blocks_taken();
  return stats;
}

}  // namespace kamino::engine
