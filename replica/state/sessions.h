// Sessions in the chain's state: which are open, and for each of their slots
// the outcome of its last mutation. docs/formats/session.md describes their
// use, docs/formats/state.md their layout.
//
// Deterministic, like the state machine it belongs to: the same calls on the
// same state make the same declarations on every node, whatever the cache
// holds.
//
// The places of a session's slots are cached in memory, so that its mutations
// need not read the tree: that takes longer, and another session that is opened
// or closed may lock the tree's pages. The cache knows a session from the
// commit of the transaction that opened it until the commit of one that closes
// it.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_SESSIONS_H_
#define KAMINO_REPLICA_STATE_SESSIONS_H_

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
#include "replica/state/session_format.h"

namespace kamino::replica {

// Errors of the reader or transaction pass unchanged; kDataLoss also: the
// stored state is damaged. `root` is that of the tree of sessions.
class Sessions {
 public:
  struct Outcome {
    std::string result;
    uint64_t sequence = 0;  // of the mutation
    bool voided = false;
  };
  // Where a mutation's outcome belongs, unless it is stored already.
  struct Place {
    engine::ObjectId slot = engine::kNullObject;
    // The previous outcome's; null: it has none.
    engine::ObjectId overflow = engine::kNullObject;
    uint32_t length = 0;           // of its result
    std::optional<Outcome> taken;  // by a mutation of that number
  };

  // Declares nothing. REASON_SESSION_EXPIRED: the session is not open;
  // REASON_SUPERSEDED, REASON_INVALID_ARGUMENT: the slot is at a later number,
  // or has not come to this one.
  absl::StatusOr<Place> FindPlace(engine::Reader& reader, engine::ObjectId root,
                                  uint64_t id, uint64_t number);

  // Stores the outcome of mutation `sequence` in its place.
  absl::Status Store(engine::Transaction& transaction, const Place& place,
                     uint64_t number, const Outcome& outcome);

  // The number of the mutation that opened it: `sequence`, or an earlier one if
  // it is open already. REASON_SESSION_EXPIRED: there is one of another epoch;
  // REASON_INVALID_ARGUMENT: no session can have these parameters;
  // kPermissionDenied: as CheckOwner.
  absl::StatusOr<uint64_t> Open(engine::Transaction& transaction,
                                engine::ObjectId root,
                                const kamino::internal::v1::OpenSession& wanted,
                                uint64_t sequence);

  // kPermissionDenied: it is open, and another principal than `who` owns it.
  // OK: it is not open or has no owner, or `who` is null, which allows
  // everything.
  absl::Status CheckOwner(engine::Reader& reader, engine::ObjectId root,
                          uint64_t id, const Principal* who);

  // Closes those that are open. REASON_SESSION_EXPIRED: none is, and nothing
  // was declared.
  absl::Status Close(engine::Transaction& transaction, engine::ObjectId root,
                     absl::Span<const uint64_t> ids, uint64_t sequence);

  // Whether the number has been executed, voided or skipped, so that it will
  // never be executed again; nothing: the session is not open.
  absl::StatusOr<std::optional<bool>> IsTaken(engine::Reader& reader,
                                              engine::ObjectId root,
                                              uint64_t id, uint64_t number);

  struct Session {
    uint64_t id = 0;
    uint32_t window = 0;
    uint64_t epoch = 0;
    uint64_t opened = 0;
    absl::Duration lease;
    uint64_t result_bytes = 0;  // of its results, except short ones
    std::string owner;          // as in OpenSession
  };
  // Visits all open sessions, by id. Not within a transaction.
  absl::Status Visit(engine::Reader& reader, engine::ObjectId root,
                     absl::FunctionRef<void(const Session&)> visit);

  // Bytes that a result takes beyond its slot.
  static size_t LongBytes(size_t result_bytes) {
    return result_bytes > session_format::kInlineBytes ? result_bytes : 0;
  }

  // --- The cache.

  // The transaction of the calls since the last Ended has committed, or was
  // rolled back.
  void Ended(bool committed);
  // The heap's bytes have changed in another way.
  void Forget();
  // For tests.
  size_t cached() const { return cache_.size(); }

 private:
  struct Known {
    std::vector<engine::ObjectId> slots;
    std::string owner;  // empty: no owner
  };

  // Valid until the next call. Null: the session is not open.
  absl::StatusOr<const Known*> Find(engine::Reader& reader,
                                    engine::ObjectId root, uint64_t id);

  absl::flat_hash_map<uint64_t, Known> cache_;
  // By the transaction under way; no slots: closed.
  absl::flat_hash_map<uint64_t, Known> changed_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_SESSIONS_H_
