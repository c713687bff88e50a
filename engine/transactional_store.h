// A heap of objects under one atomicity scheme: what data structures and
// benches that do not care which scheme it is are given.
#ifndef KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
#define KAMINO_ENGINE_TRANSACTIONAL_STORE_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transaction.h"

namespace kamino::engine {

// Thread-safe; must outlive its transactions.
class TransactionalStore {
 public:
  virtual ~TransactionalStore() = default;

  // As in a report: "kamino-simple", "undo-object", ...
  virtual absl::string_view scheme() const = 0;

  // Waits up to `lock_wait` for each lock; zero never waits (section 3:
  // dependent transactions), the transaction then reports conflict().
  virtual std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) = 0;

  // An object that is there from the beginning, zeroed, of at least 256 bytes.
  virtual ObjectId root() const = 0;

  // Waits until nothing of a transaction that has ended is left to do: copies
  // are made, locks have fallen, freed space is free. No transaction may be
  // live.
  virtual void Quiesce() = 0;

  // Bytes of (persistent) memory that objects, logs and copies take.
  virtual uint64_t bytes_used() const = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
