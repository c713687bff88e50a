// Where things lie in WrAP's log, and what makes them count
// (lab/docs/wrap.md): what the log and its recovery share.
#ifndef KAMINO_LAB_WRAP_WRAP_LAYOUT_H_
#define KAMINO_LAB_WRAP_WRAP_LAYOUT_H_

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/heap/heap.h"
#include "engine/pmem/region.h"
#include "lab/wrap/wrap_format.h"

namespace kamino::engine {

// Immutable; a value.
class WrapLayout {
 public:
  // Makes the log area of a new heap an empty log, durably.
  // kInvalidArgument: buckets of that size are not possible, or too few fit.
  static absl::Status Format(const Heap& heap, uint64_t bucket_bytes);
  // Layout of a heap on the medium itself, which may not be loaded; its region
  // must outlive this. kDataLoss: the header is damaged. kInvalidArgument: a
  // record cannot name every byte of so large a region.
  static absl::StatusOr<WrapLayout> Of(const Heap& heap);

  Region* region() const { return region_; }
  std::byte* At(uint64_t offset) const { return region_->base() + offset; }
  wrap_format::LogHeader* header() const {
    return reinterpret_cast<wrap_format::LogHeader*>(At(log_begin_));
  }
  uint64_t log_begin() const { return log_begin_; }
  uint64_t log_end() const { return log_end_; }
  // Where records may store: the blocks, headers included.
  uint64_t objects_begin() const { return objects_begin_; }

  size_t buckets() const { return buckets_; }
  uint64_t bucket_bytes() const { return bucket_bytes_; }
  uint64_t BucketAt(size_t index) const {
    return log_begin_ + sizeof(wrap_format::LogHeader) + index * bucket_bytes_;
  }

  // Checks of a marker at `offset`: its own, and that of the whole wrap.
  uint64_t OwnCheckOf(const wrap_format::Marker& marker, uint64_t offset) const;
  uint64_t CheckOf(const wrap_format::Marker& marker, uint64_t offset,
                   absl::Span<const std::byte> records) const;

  // The header's words that change. kDataLoss: no such word. Stored: in one
  // step, and not flushed.
  absl::StatusOr<uint64_t> Retired() const;
  absl::StatusOr<uint64_t> LastSequence() const;
  void StoreRetired(uint64_t sequence) const;
  void StoreLastSequence(uint64_t sequence) const;

 private:
  WrapLayout() = default;

  Region* region_ = nullptr;
  uint64_t log_begin_ = 0;
  uint64_t log_end_ = 0;
  uint64_t objects_begin_ = 0;
  uint64_t bucket_bytes_ = 0;
  size_t buckets_ = 0;
  uint64_t seed_ = 0;
};

// Calls the function with what each record stores, and where, in their order.
// False: the bytes are not records.
bool ForEachRecord(
    absl::Span<const std::byte> records,
    absl::FunctionRef<void(uint64_t address, absl::Span<const std::byte> bytes)>
        visit);

}  // namespace kamino::engine

#endif  // KAMINO_LAB_WRAP_WRAP_LAYOUT_H_
