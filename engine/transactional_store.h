// A heap of objects under one atomicity scheme: what data structures and
// benches that do not care which scheme it is are given.
#ifndef KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
#define KAMINO_ENGINE_TRANSACTIONAL_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transaction.h"

namespace kamino::engine {

// What opening a store found and did. Zero: none, or the scheme does not know;
// docs/use/engine.md has a table of who knows what ("After a crash").
struct RecoveryReport {
  // The largest CommitOptions::sequence of all transactions found committed, or
  // of the numbers that the scheme gave them.
  uint64_t last_sequence = 0;
  uint64_t replayed = 0;        // committed transactions carried through
  uint64_t rolled_back = 0;     // unfinished ones taken back
  uint64_t repaired_lines = 0;  // cache lines that were lost and made again
  // Whose bytes cannot be had back: they read as kDataLoss, or not at all, and
  // the owner has to do without them. Ascending.
  std::vector<ObjectId> lost_objects;
};

// durable_sequence() where every commit is durable when it returns.
inline constexpr uint64_t kAllDurable = UINT64_MAX;

// Thread-safe; must outlive its transactions.
class TransactionalStore {
 public:
  virtual ~TransactionalStore() = default;

  // As in a report: "kamino-simple", "undo-object", ...
  virtual absl::string_view scheme() const = 0;

  // Waits up to `lock_wait` for each lock; zero never waits (section 3:
  // dependent transactions), the transaction then reports conflict().
  virtual std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) = 0;

  // An object that is there from the beginning, zeroed, of at least 256 bytes;
  // freeing it is kInvalidArgument.
  virtual ObjectId root() const = 0;

  // Waits until nothing of a transaction that has ended is left to do: copies
  // are made, locks have fallen, freed space is free. No transaction may be
  // live.
  virtual void Quiesce() = 0;

  // Of the opening.
  virtual RecoveryReport recovery_report() const { return {}; }

  // All transactions up to this number survive a crash (transaction.h,
  // invariant 2, and CommitOptions::durable_at), but for objects that
  // RecoveryReport::lost_objects may name then. Never falls. Of numbers that an
  // earlier opening gave it says nothing: of those the ones above the
  // last_sequence that the next opening reports were taken back.
  virtual uint64_t durable_sequence() const { return kAllDurable; }
  // Waits until durable_sequence() is at least `sequence`, but no longer than
  // `wait`; whether it is. Until then nobody may be told that the transaction
  // has committed. Also while transactions are live. It may take part in what
  // has to be done, and then takes longer than `wait` by as much as that takes;
  // with a `wait` of zero it does nothing but look. False at once for a number
  // that this opening has taken back.
  virtual bool AwaitDurable(uint64_t /*sequence*/, absl::Duration /*wait*/) {
    return true;
  }

  // Bytes of (persistent) memory that objects, logs and copies take.
  virtual uint64_t bytes_used() const = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
