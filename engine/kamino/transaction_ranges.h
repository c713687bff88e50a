// The content of a transaction's declared ranges, from their declaration to the
// commit record's checksum. Private to the store.
//
// Known bytes are kept, and stored to the heap in one go at the commit: the
// stores bypass the cache, and every locked instruction between them and the
// drain would wait for them.
//
// Not thread-safe.
#ifndef KAMINO_ENGINE_KAMINO_TRANSACTION_RANGES_H_
#define KAMINO_ENGINE_KAMINO_TRANSACTION_RANGES_H_

#include <cstddef>
#include <cstdint>

#include "absl/types/span.h"
#include "engine/kamino/transaction_state.h"
#include "engine/pmem/region_writer.h"
#include "engine/transaction.h"

namespace kamino::engine {

class TransactionRanges {
 public:
  using Object = TransactionState::Object;
  using Range = TransactionState::Range;

  // Bytes that a range is to have.
  struct Bytes {
    absl::Span<const std::byte> bytes;
    uint64_t hash = 0;  // of the bytes
    int64_t kept = -1;  // the result of Keep
  };

  // `region` is the heap's; it outlives this. `state` is used until the
  // transaction ends. `copies_at_commit`: the next commit copies the ranges to
  // the undo copy.
  TransactionRanges(const RegionWriter& region, TransactionState* state,
                    bool copies_at_commit)
      : region_(region), state_(state), copies_at_commit_(copies_at_commit) {}

  // Keeps both in state->bytes, in whole words, and returns where, or -1. The
  // bytes of these words beside the range are still to be filled in.
  int64_t Keep(uint32_t offset, absl::Span<const std::byte> head,
               absl::Span<const std::byte> bytes);
  // The bytes of a range that Keep has kept; valid until the next Keep.
  absl::Span<const std::byte> Kept(int64_t kept, uint32_t offset,
                                   size_t length) const;

  bool Overlaps(const Object& object, const Intent& intent) const;
  // The place of the new range. `*overlaps`: with an earlier one of the object.
  Range* Add(Object* object, const Intent& intent, bool* overlaps);
  // Adds a range with these bytes to an object that is not new.
  void AddOverwrite(Object* object, const Intent& intent, const Bytes& content);
  // Stores the object's deferred ranges.
  void Apply(Object* object);

  // --- New objects: no intent is needed to write to free space.

  // From now on the object's payload is written by other means.
  void ZeroNew(Object* object);
  void OverwriteNew(Object* object, uint32_t offset, const Bytes& content);

  // --- The end.

  // Fills in the record; afterwards no byte changes any more.
  void PrepareRecord(uint64_t sequence);
  // Summarizes the result; after PrepareRecord.
  void Tell(AfterImage* image) const;
  // Stores and flushes data of the record that is not flushed yet.
  void StoreAll();
  // Stores the undo copies of all ranges back, durably.
  void RestoreCopies();

 private:
  void FillWords(const Range& range);
  void ApplyRange(Range* range);
  void HashRange(Range* range);

  const RegionWriter& region_;
  TransactionState* const state_;
  const bool copies_at_commit_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_KAMINO_TRANSACTION_RANGES_H_
