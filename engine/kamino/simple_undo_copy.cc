// kamino-simple (section 4.1): a mirror of the heap at the same offsets.
//
// The bitmap says which objects have a copy; a copy under an id without an
// object is void.
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/explore.h"
#include "engine/kamino/undo_copy.h"
#include "engine/kamino/undo_copy_header.h"

namespace kamino::engine {
namespace {

using undo_copy_format::BitmapBytes;
using undo_copy_format::kHeaderBytes;
using undo_copy_format::Kind;

class SimpleUndoCopy final : public UndoCopy {
 public:
  SimpleUndoCopy(const Heap* heap, Region* region)
      : UndoCopy(Mirror{
            reinterpret_cast<uint64_t*>(region->base() + kHeaderBytes),
            region->base() + kHeaderBytes + BitmapBytes(heap->region()->size()),
            &counts_}),
        heap_(heap),
        region_(region) {}

  absl::string_view scheme() const override { return "kamino-simple"; }
  absl::StatusOr<std::byte*> EnsureCopy(ObjectId id) override {
    if (std::byte* copy = FindMirrored(id); copy != nullptr) return copy;
    CopyAll(id);
    region_->Drain();
    SetBit(id);
    region_->Drain();
    return mirror().bytes + id;
  }

  std::vector<std::byte*> EnsureCopies(
      absl::Span<const ObjectId> ids) override {
    std::vector<std::byte*> copies;
    bool any = false;
    for (ObjectId id : ids) {
      copies.push_back(mirror().bytes + id);
      if (mirror().Has(id)) {
        counts_.AddHit();
        continue;
      }
      CopyAll(id);
      any = true;
    }
    if (!any) return copies;
    region_->Drain();
    for (ObjectId id : ids) SetBit(id);
    region_->Drain();
    return copies;
  }

  // If the bit becomes durable but not the content, recovery copies it again:
  // the transaction that made the object has kept its locks.
  std::byte* CopyOfNew(ObjectId id) override {
    Reached(Branch::kCopyOfNew);
    SetBit(id);
    return mirror().bytes + id;
  }

  absl::StatusOr<absl::Span<std::byte>> Copy(ObjectId id) override {
    if (!mirror().Has(id)) {
      return absl::DataLossError(
          absl::StrCat("the undo copy has no copy of object ", id));
    }
    return absl::MakeSpan(mirror().bytes + id, heap_->BlockPayload(id).size());
  }

  // The next object with this id is copied as a whole.
  void Drop(ObjectId) override {}

  void Unpin(ObjectId) override {}  // copies stay

  Region* region() const override { return region_; }

  void SetEvictionListener(EvictionListener) override {}

  UndoCopyStats stats() const override {
    UndoCopyStats stats;
    counts_.AddTo(&stats);
    stats.bytes_total = heap_->region()->size();
    stats.bytes_used = stats.bytes_total;  // the mirror is always whole
    return stats;
  }

 private:
  // Stores and flushes the copy. It is valid once the copy and then its bit are
  // durable.
  void CopyAll(ObjectId id) {
    Reached(Branch::kCopyMade);
    counts_.AddMiss();
    const absl::Span<std::byte> payload = heap_->BlockPayload(id);
    region_->CopyFlush(mirror().bytes + id, payload.data(), payload.size());
  }
  // Other bits of the word may change at the same time. A set bit is durable:
  // its writer kept the object's lock until it was.
  void SetBit(ObjectId id) {
    if (mirror().Has(id)) return;
    __atomic_fetch_or(mirror().WordOf(id), Mirror::MaskOf(id),
                      __ATOMIC_ACQ_REL);
    region_->Flush(mirror().WordOf(id), sizeof(uint64_t));
  }

  const Heap* const heap_;
  Region* const region_;
  CopyCounts counts_;
};

}  // namespace

size_t SimpleUndoCopyBytes(size_t heap_bytes) {
  return kHeaderBytes + BitmapBytes(heap_bytes) + heap_bytes;
}

absl::StatusOr<std::unique_ptr<UndoCopy>> CreateSimpleUndoCopy(const Heap* heap,
                                                               Region* region) {
  const size_t heap_bytes = heap->region()->size();
  if (region->size() < SimpleUndoCopyBytes(heap_bytes)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a simple undo copy of ", region->size(),
        " bytes; it must be at least ", SimpleUndoCopyBytes(heap_bytes)));
  }
  region->ZeroFlush(region->base() + kHeaderBytes, BitmapBytes(heap_bytes));
  region->Drain();
  WriteUndoCopyHeader(*heap, Kind::kSimple, region);
  return std::unique_ptr<UndoCopy>(new SimpleUndoCopy(heap, region));
}

absl::StatusOr<std::unique_ptr<UndoCopy>> OpenSimpleUndoCopy(const Heap* heap,
                                                             Region* region) {
  RETURN_IF_ERROR(CheckUndoCopyHeader(*heap, Kind::kSimple, *region));
  return std::unique_ptr<UndoCopy>(new SimpleUndoCopy(heap, region));
}

}  // namespace kamino::engine
