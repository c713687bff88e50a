// kamino-simple (section 4.1): a mirror of the heap at the same offsets.
//
// The bitmap says which objects have a copy; a copy under an id without an
// object is void.
#include <array>
#include <atomic>
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

constexpr size_t kUnit = heap_format::kUnitBytes;

class SimpleUndoCopy final : public UndoCopy {
 public:
  SimpleUndoCopy(const Heap* heap, Region* region)
      : heap_(heap),
        region_(region),
        bitmap_(reinterpret_cast<uint64_t*>(region->base() + kHeaderBytes)),
        mirror_(region->base() + kHeaderBytes +
                BitmapBytes(heap->region()->size())) {}

  absl::string_view scheme() const override { return "kamino-simple"; }
  absl::StatusOr<std::byte*> EnsureCopy(ObjectId id) override {
    if (Has(id)) {
      Reached(Branch::kCopyThere);
      counts_[Mine()].hits.Add();
      return mirror_ + id;
    }
    Mirror(id);
    region_->Drain();
    SetBit(id);
    region_->Drain();
    return mirror_ + id;
  }

  std::vector<std::byte*> EnsureCopies(
      absl::Span<const ObjectId> ids) override {
    std::vector<std::byte*> copies;
    bool any = false;
    for (ObjectId id : ids) {
      copies.push_back(mirror_ + id);
      if (Has(id)) {
        counts_[Mine()].hits.Add();
        continue;
      }
      Mirror(id);
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
    return mirror_ + id;
  }

  absl::StatusOr<absl::Span<std::byte>> Copy(ObjectId id) override {
    if (!Has(id)) {
      return absl::DataLossError(
          absl::StrCat("the undo copy has no copy of object ", id));
    }
    return absl::MakeSpan(mirror_ + id, heap_->BlockPayload(id).size());
  }

  // The next object with this id is copied as a whole.
  void Drop(ObjectId) override {}

  void Unpin(ObjectId) override {}  // copies stay

  Region* region() const override { return region_; }

  void SetEvictionListener(EvictionListener) override {}

  UndoCopyStats stats() const override {
    UndoCopyStats stats;
    for (const Counts& counts : counts_) {
      stats.hits += counts.hits.value();
      stats.misses += counts.misses.value();
    }
    stats.bytes_total = heap_->region()->size();
    stats.bytes_used = stats.bytes_total;  // the mirror is always whole
    return stats;
  }

 private:
  // Exact while one thread adds to it, otherwise nearly so; no locked
  // instruction.
  class Counter {
   public:
    void Add() { value_.store(value() + 1, std::memory_order_relaxed); }
    uint64_t value() const { return value_.load(std::memory_order_relaxed); }

   private:
    std::atomic<uint64_t> value_{0};
  };
  struct alignas(64) Counts {
    Counter hits;
    Counter misses;
  };
  static constexpr size_t kCounts = 16;

  static size_t Mine() {
    static std::atomic<size_t> next{0};
    thread_local const size_t mine = next.fetch_add(1) % kCounts;
    return mine;
  }

  uint64_t* WordOf(ObjectId id) const { return &bitmap_[id / kUnit / 64]; }
  uint64_t MaskOf(ObjectId id) const {
    return uint64_t{1} << (id / kUnit % 64);
  }
  bool Has(ObjectId id) const {
    return (__atomic_load_n(WordOf(id), __ATOMIC_ACQUIRE) & MaskOf(id)) != 0;
  }
  // Stores and flushes the copy. It is valid once the copy and then its bit are
  // durable.
  void Mirror(ObjectId id) {
    Reached(Branch::kCopyMade);
    counts_[Mine()].misses.Add();
    const absl::Span<std::byte> payload = heap_->BlockPayload(id);
    region_->CopyFlush(mirror_ + id, payload.data(), payload.size());
  }
  // Other bits of the word may change at the same time. A set bit is durable:
  // its writer kept the object's lock until it was.
  void SetBit(ObjectId id) {
    if (Has(id)) return;
    __atomic_fetch_or(WordOf(id), MaskOf(id), __ATOMIC_ACQ_REL);
    region_->Flush(WordOf(id), sizeof(uint64_t));
  }

  const Heap* const heap_;
  Region* const region_;
  uint64_t* const bitmap_;
  std::byte* const mirror_;

  std::array<Counts, kCounts> counts_;  // by thread
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
