#include "engine/kamino/undo_copy_header.h"

#include <xxhash.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace kamino::engine {

using undo_copy_format::Kind;
using undo_copy_format::kUndoCopyMagic;
using undo_copy_format::kUndoCopyVersion;
using undo_copy_format::UndoCopyHeader;

namespace {

uint64_t ChecksumOf(const UndoCopyHeader& header) {
  return XXH3_64bits(&header, offsetof(UndoCopyHeader, checksum));
}

bool IsOf(const UndoCopyHeader& header, const Heap& heap) {
  return std::memcmp(header.heap_uuid, heap.uuid().data(),
                     heap.uuid().size()) == 0;
}

}  // namespace

void WriteUndoCopyHeader(const Heap& heap, Kind kind, Region* region) {
  UndoCopyHeader header{};
  header.magic = kUndoCopyMagic;
  header.version = kUndoCopyVersion;
  header.kind = static_cast<uint32_t>(kind);
  header.size = region->size();
  header.heap_bytes = heap.region()->size();
  std::memcpy(header.heap_uuid, heap.uuid().data(), heap.uuid().size());
  header.checksum = ChecksumOf(header);
  region->CopyFlush(region->base(), &header, sizeof(header));
  region->Drain();
}

absl::Status CheckUndoCopyHeader(const Heap& heap, Kind kind,
                                 const Region& region) {
  const auto& header = *reinterpret_cast<const UndoCopyHeader*>(region.base());
  if (region.size() < undo_copy_format::kHeaderBytes ||
      header.magic != kUndoCopyMagic) {
    return absl::FailedPreconditionError("not a Kamino undo copy");
  }
  if (header.version != kUndoCopyVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("undo copy format is version ", header.version,
                     "; this program reads version ", kUndoCopyVersion));
  }
  if (header.checksum != ChecksumOf(header)) {
    return absl::DataLossError("the undo copy's header is damaged: checksum");
  }
  if (header.kind != static_cast<uint32_t>(kind)) {
    return absl::FailedPreconditionError("an undo copy of another kind");
  }
  if (header.size != region.size() ||
      header.heap_bytes != heap.region()->size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the undo copy was made with ", header.size, " bytes for a heap of ",
        header.heap_bytes, " bytes; it has ", region.size(), " and the heap ",
        heap.region()->size()));
  }
  if (!IsOf(header, heap)) {
    return absl::FailedPreconditionError("the undo copy is another heap's");
  }
  return absl::OkStatus();
}

bool IsOfAnotherHeap(const Heap& heap, const Region& region) {
  const auto& header = *reinterpret_cast<const UndoCopyHeader*>(region.base());
  return region.size() >= undo_copy_format::kHeaderBytes &&
         header.magic == kUndoCopyMagic && header.version == kUndoCopyVersion &&
         header.checksum == ChecksumOf(header) && !IsOf(header, heap);
}

}  // namespace kamino::engine
