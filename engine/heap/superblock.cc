#include "engine/heap/superblock.h"

#include <xxhash.h>

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "engine/heap/heap.h"

namespace kamino::engine {

using heap_format::BlockHeader;
using heap_format::BlockState;
using heap_format::kHeapMagic;
using heap_format::kHeapVersion;
using heap_format::kLabelBytes;
using heap_format::kMinLogBytes;
using heap_format::kSuperblockBytes;
using heap_format::kUnitBytes;
using heap_format::MakeWord;
using heap_format::PayloadBytes;
using heap_format::Superblock;
using heap_format::UnitsFor;

namespace {

uint64_t ChecksumOf(const Superblock& superblock) {
  return XXH3_64bits(&superblock, offsetof(Superblock, checksum));
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

}  // namespace

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

absl::Status FormatHeap(Region* region, absl::string_view label,
                        size_t min_bytes, size_t log_bytes) {
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
  const uint64_t root_units = UnitsFor(Heap::kRootBytes);
  BlockHeader* root = heap_format::HeaderOf(region->base(), superblock.root);
  root->word = MakeWord(BlockState::kAllocated, root_units);
  root->copy_of = 0;
  std::memset(root + 1, 0, PayloadBytes(root_units));
  region->Flush(root, root_units * kUnitBytes);
  BlockHeader* rest = heap_format::HeaderOf(
      region->base(), superblock.root + root_units * kUnitBytes);
  rest->word = MakeWord(BlockState::kFree,
                        superblock.objects_bytes / kUnitBytes - root_units);
  rest->copy_of = 0;
  region->Persist(rest, sizeof(*rest));
  region->CopyFlush(region->base(), &superblock, sizeof(superblock));
  region->Drain();
  return absl::OkStatus();
}

}  // namespace kamino::engine
