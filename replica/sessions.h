// Sessions in the chain's state: which are open, and for each of its slots the
// outcome of the last mutation that had it. docs/formats/session.md says what
// they are for, docs/formats/state.md how they lie there.
//
// Deterministic, as the state machine that this is a part of: the same calls on
// the same state make the same declarations, on every node, whatever the cache
// below knows.
//
// Where a session's slots lie is kept in memory, so that its mutations need not
// look into the tree: that takes longer, and the tree's pages may be locked by
// another session that is opened or closed. It knows of a session once the
// transaction that opened it has committed, and as long as none that closes it
// has.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_SESSIONS_H_
#define KAMINO_REPLICA_SESSIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/principal.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/session_format.h"

namespace kamino::replica {

// Errors of the reader or transaction pass unchanged; kDataLoss also: what is
// stored is damaged. `root` is that of the tree of sessions.
class Sessions {
 public:
  struct Outcome {
    std::string result;
    uint64_t sequence = 0;  // of the mutation
    bool voided = false;
  };
  // Where a mutation's outcome goes, unless it is there.
  struct Place {
    engine::ObjectId slot = engine::kNullObject;
    // Of the outcome that was there before; null: it has none.
    engine::ObjectId overflow = engine::kNullObject;
    uint32_t length = 0;           // of its result
    std::optional<Outcome> taken;  // by a mutation of that number
  };

  // Nothing is declared. REASON_SESSION_EXPIRED: it is not open;
  // REASON_SUPERSEDED, REASON_INVALID_ARGUMENT: the slot has come further, or
  // not as far.
  absl::StatusOr<Place> FindPlace(engine::Reader& reader, engine::ObjectId root,
                                  uint64_t id, uint64_t number);

  // Stores the outcome of mutation `sequence` in its place.
  absl::Status Store(engine::Transaction& transaction, const Place& place,
                     uint64_t number, const Outcome& outcome);

  // The number of the mutation that opened it: `sequence`, or an earlier one
  // where it is open. REASON_SESSION_EXPIRED: there is one of another epoch;
  // REASON_INVALID_ARGUMENT: no session can be as it says; kPermissionDenied:
  // as CheckOwner.
  absl::StatusOr<uint64_t> Open(engine::Transaction& transaction,
                                engine::ObjectId root,
                                const kamino::internal::v1::OpenSession& wanted,
                                uint64_t sequence);

  // kPermissionDenied: it is open, and of somebody else than `who`. OK: it is
  // not open, or nobody's, or `who` is null and may do everything.
  absl::Status CheckOwner(engine::Reader& reader, engine::ObjectId root,
                          uint64_t id, const Principal* who);

  // Closes those that are open. REASON_SESSION_EXPIRED: none is, and nothing
  // was declared.
  absl::Status Close(engine::Transaction& transaction, engine::ObjectId root,
                     absl::Span<const uint64_t> ids, uint64_t sequence);

  // Whether the number has been executed, voided or passed over, so that it
  // never will be executed again; nothing: the session is not open.
  absl::StatusOr<std::optional<bool>> IsTaken(engine::Reader& reader,
                                              engine::ObjectId root,
                                              uint64_t id, uint64_t number);

  struct Session {
    uint64_t id = 0;
    uint32_t window = 0;
    uint64_t epoch = 0;
    uint64_t opened = 0;
    absl::Duration lease;
    uint64_t result_bytes = 0;  // of its results, but for short ones
    std::string owner;          // as OpenSession has it
  };
  // All that are open, by id. Not within a transaction.
  absl::Status Visit(engine::Reader& reader, engine::ObjectId root,
                     absl::FunctionRef<void(const Session&)> visit);

  // What a result takes beyond its slot.
  static size_t LongBytes(size_t result_bytes) {
    return result_bytes > session_format::kInlineBytes ? result_bytes : 0;
  }

  // --- The cache.

  // The transaction of the calls since the last Ended has committed, or was
  // taken back.
  void Ended(bool committed);
  // The heap's bytes have changed otherwise.
  void Forget();
  // For tests.
  size_t cached() const { return cache_.size(); }

 private:
  struct Known {
    std::vector<engine::ObjectId> slots;
    std::string owner;  // empty: nobody's
  };

  // Valid until the next call. Null: the session is not open.
  absl::StatusOr<const Known*> Find(engine::Reader& reader,
                                    engine::ObjectId root, uint64_t id);

  absl::flat_hash_map<uint64_t, Known> cache_;
  // By the transaction under way; no slots: closed.
  absl::flat_hash_map<uint64_t, Known> changed_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_SESSIONS_H_
