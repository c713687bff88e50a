// A heap of objects under one atomicity scheme: the interface for data
// structures and benches that do not depend on the scheme.
#ifndef KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
#define KAMINO_ENGINE_TRANSACTIONAL_STORE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transaction.h"

namespace kamino::engine {

// The result of opening a store. Zero: none, or the scheme does not know;
// docs/use/engine.md has a table of what each scheme reports ("After a crash").
struct RecoveryReport {
  // The largest CommitOptions::sequence of all committed transactions, or the
  // largest number that the scheme gave them.
  uint64_t last_sequence = 0;
  uint64_t replayed = 0;        // committed transactions rolled forward
  uint64_t rolled_back = 0;     // unfinished transactions rolled back
  uint64_t repaired_lines = 0;  // cache lines that were lost and restored
  // Objects whose bytes cannot be restored. Reading one returns kDataLoss or
  // fails; the owner must do without them. Ascending.
  std::vector<ObjectId> lost_objects;
};

// durable_sequence() if every commit is durable when it returns.
inline constexpr uint64_t kAllDurable = UINT64_MAX;

// Thread-safe; must outlive its transactions.
class TransactionalStore {
 public:
  virtual ~TransactionalStore() = default;

  // As in a report: "kamino-simple", "undo-object", ...
  virtual absl::string_view scheme() const = 0;

  // Waits up to `lock_wait` for each lock. Zero never waits: the transaction
  // then reports conflict() (section 3: dependent transactions).
  virtual std::unique_ptr<Transaction> Begin(absl::Duration lock_wait) = 0;

  // An object of at least 256 bytes that exists from the start, zeroed. Freeing
  // it is kInvalidArgument.
  virtual ObjectId root() const = 0;

  // Waits until all work of ended transactions is done: copies are made, locks
  // are released, freed space is free. No transaction may be live.
  virtual void Quiesce() = 0;

  // The report of the last opening.
  virtual RecoveryReport recovery_report() const { return {}; }

  // All transactions up to this number survive a crash (transaction.h,
  // invariant 2, and CommitOptions::durable_at), except for objects that
  // RecoveryReport::lost_objects names then. Never falls. It does not cover
  // numbers from an earlier opening: those above the last_sequence that the
  // next opening reports were rolled back.
  virtual uint64_t durable_sequence() const { return kAllDurable; }
  // Waits up to `wait` until durable_sequence() is at least `sequence`; returns
  // whether it is. Until then the commit must not be reported to a client. May
  // be called while transactions are live. The call may do part of the work
  // itself, and then takes longer than `wait` by that time; with a `wait` of
  // zero it only looks. False at once for a number that this opening has rolled
  // back.
  virtual bool AwaitDurable(uint64_t /*sequence*/, absl::Duration /*wait*/) {
    return true;
  }

  // Bytes of (persistent) memory that objects, logs and copies use.
  virtual uint64_t bytes_used() const = 0;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_TRANSACTIONAL_STORE_H_
