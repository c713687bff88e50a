// The contents of every object of a store after each transaction that a crash
// may leave as the last one.
#ifndef KAMINO_LAB_CRASH_MODEL_ORACLE_H_
#define KAMINO_LAB_CRASH_MODEL_ORACLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "engine/transaction.h"

namespace kamino::bench::crash_model {

// Hash of a payload.
uint64_t HashOf(absl::Span<const std::byte> bytes);

// An object that a transaction has written, made or freed.
struct Change {
  engine::ObjectId id = engine::kNullObject;
  uint32_t bytes = 0;  // of the payload; 0: the object is gone
  uint64_t hash = 0;   // of the payload
};

struct ExpectedObject {
  engine::ObjectId id = engine::kNullObject;
  uint32_t bytes = 0;
  uint64_t hash = 0;
  // No transaction has changed it that is later than what is asked about.
  bool settled = false;
};

class Oracle {
 public:
  // Transaction `sequence`, later than all before, has made these changes, or
  // is about to. A crash leaves `durable` and all before from now on.
  void Add(uint64_t sequence, absl::Span<const Change> changes,
           uint64_t durable);
  // The last added transaction did not commit: removes its changes.
  void RemoveLast(uint64_t sequence, absl::Span<const Change> changes);

  // The objects there are after transaction `sequence`, which is not before
  // what is durable; by id.
  std::vector<ExpectedObject> AsOf(uint64_t sequence) const;

  // All that a crash may leave, in some version: their ids, ascending, and
  // payloads' sizes.
  struct Place {
    engine::ObjectId id = engine::kNullObject;
    uint32_t bytes = 0;
  };
  std::vector<Place> Places() const;

 private:
  struct Version {
    uint64_t sequence = 0;
    uint32_t bytes = 0;
    uint64_t hash = 0;
  };
  // Ascending; all but the first are later than what is durable, as far as one
  // knew when the last was added.
  using Versions = absl::InlinedVector<Version, 1>;

  absl::flat_hash_map<engine::ObjectId, Versions> objects_;
};

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_ORACLE_H_
