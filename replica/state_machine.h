// What the nodes of a chain agree on: the objects, each client's latest
// outcome, and the sessions, as trees on one heap; and how a request changes
// them.
//
// Outcomes are dropped to bound their number. The state then keeps how far that
// reaches: the highest number, the horizon, of all mutations whose outcome was
// dropped. A mutation that was first sent when the chain had reached `since`
// has a number over that, if any; so if since >= horizon its outcome was not
// dropped. Where that cannot be told, nothing is executed and nothing claimed.
// Of mutations that are of a session (replica/sessions.h) none is dropped while
// it is open.
//
// Deterministic: the same requests in the same order make the same
// declarations to the transaction, on every node.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_MACHINE_H_
#define KAMINO_REPLICA_STATE_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/key_scope.h"
#include "base/principal.h"
#include "engine/index/key_value.h"
#include "engine/index/version_summary.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/log_entry.h"
#include "replica/procedure.h"
#include "replica/refused_requests.h"
#include "replica/request_meter.h"
#include "replica/sessions.h"

namespace kamino::replica {

// The first mutation of every chain: makes the trees. Submitted by the
// first head, by no client; an error where there is a state already.
inline constexpr char kFormatFunction[] = "kamino.format";

// Records a request that a head died of, or pardons its bytes: RefuseRequest.
// Submitted by the head, by no client.
inline constexpr char kRefuseFunction[] = "kamino.refuse";

// Drops outcomes to make room in the heap, and does nothing else. Submitted by
// the head, by no client.
inline constexpr char kDropFunction[] = "kamino.drop";

// Opens a session: OpenSession. Nothing is changed where it is open already.
// Submitted by the head, by no client.
inline constexpr char kOpenSessionFunction[] = "kamino.open_session";

// Closes sessions: CloseSessions. Submitted by the head, by no client.
inline constexpr char kCloseSessionsFunction[] = "kamino.close_sessions";

// Of a session: takes its number, and changes nothing else.
inline constexpr char kVoidFunction[] = "kamino.void";

class StateMachine {
 public:
  // `root` is the heap's root object. Both must outlive this.
  StateMachine(const ProcedureRegistry* procedures, engine::ObjectId root)
      : procedures_(procedures), root_(root) {}

  struct Execution {
    std::string result;
    uint64_t sequence = 0;  // of the mutation that the result is of
    bool repeated = false;  // a stored outcome; nothing was changed
    // Of a session: the number was voided, if not by this mutation.
    bool voided = false;
    // Of a session: what the result takes that this one takes the place of.
    uint64_t replaced_bytes = 0;
  };

  // Runs one mutation within `transaction`, as number `sequence`. On an error
  // the transaction must be aborted if this call has declared anything, or if
  // it has set *changed: writes to objects that the transaction itself has
  // allocated need no declaration. `changed` may be null. `meter` counts what
  // the mutation's function touches, and limits it; null: there is no limit.
  // `scope`: what it may touch; null: all. It is the head's to refuse by that:
  // a mutation that is in the log was allowed, so that others need not know.
  // Whoever ends the transaction calls Ended.
  absl::StatusOr<Execution> Execute(engine::Transaction& transaction,
                                    const MutationView& mutation,
                                    uint64_t sequence, bool* changed = nullptr,
                                    RequestMeter* meter = nullptr,
                                    const KeyScope* scope = nullptr);

  // The transaction of the calls of Execute since the last Ended has committed,
  // or was taken back.
  void Ended(bool committed);

  // Runs all mutations of an entry that the head has executed, and calls Ended;
  // an error means that this node differs from the head.
  // `trial`: the transaction is without effect.
  absl::Status Replay(engine::Transaction& transaction, const LogEntry& entry,
                      bool trial = false);

  // --- What range compares go by (engine/index/version_summary.h). It is
  // volatile, so it is made by and by once the heap is there.

  // Makes some more of it, for which it looks at about `objects` of the heap.
  // False: there is more to do. Not within a transaction, nor on a heap on
  // which operations are half executed.
  absl::StatusOr<bool> Summarize(engine::Reader& reader, uint64_t objects);
  // The heap's bytes have changed otherwise than by Execute: all that is
  // volatile goes.
  void Forget();

  // For reads. kUnavailable (REASON_RECONFIGURING): the chain's first
  // mutation has not come yet. `scope`, which outlives what it returns: of who
  // reads; null: all.
  // REASON_RESTORING: there are not all yet, and `while_restoring` is false.
  absl::StatusOr<engine::KeyValueReader> Objects(
      engine::Reader& reader, const KeyScope* scope = nullptr,
      bool while_restoring = false);

  enum class Knowledge {
    kStored,  // the outcome of the client's latest number
    kNone,    // no mutation of the client that was first sent after `since` has
              // committed
    kDropped,  // one may have, and its outcome may have been dropped
  };
  struct Lookup {
    Knowledge knowledge = Knowledge::kNone;
    kamino::internal::v1::StoredOutcome outcome;  // kStored
  };
  // `since` as in kamino.v1.RequestId.
  absl::StatusOr<Lookup> FindOutcome(engine::Reader& reader, uint64_t client_id,
                                     uint64_t since);

  // Sessions::FindPlace, of a number whose outcome is asked for.
  absl::StatusOr<Sessions::Place> FindPlace(engine::Reader& reader,
                                            uint64_t session_id,
                                            uint64_t number);
  // Sessions::IsTaken.
  absl::StatusOr<std::optional<bool>> IsTaken(engine::Reader& reader,
                                              uint64_t session_id,
                                              uint64_t number);

  // Sessions::CheckOwner.
  absl::Status CheckSessionOwner(engine::Reader& reader, uint64_t session_id,
                                 const Principal* who);

  // Every session that is open, by id. Not within a transaction.
  absl::Status VisitSessions(
      engine::Reader& reader,
      absl::FunctionRef<void(const Sessions::Session&)> visit);

  absl::StatusOr<RefusedRequests> Refused(engine::Reader& reader);

  // The highest number of a mutation whose outcome was dropped; 0: none was.
  absl::StatusOr<uint64_t> EvictionHorizon(engine::Reader& reader);

  // Every client with a stored outcome, until `visit` returns false.
  absl::Status VisitClients(
      engine::Reader& reader,
      absl::FunctionRef<bool(uint64_t client_id,
                             const kamino::internal::v1::StoredOutcome&)>
          visit);

  // False before the chain's first mutation. An error says nothing of that:
  // a root object that cannot be read may be all that a state has lost.
  absl::StatusOr<bool> Formatted(engine::Reader& reader);

 private:
  struct Trees {
    engine::ObjectId objects;
    engine::ObjectId clients;
    engine::ObjectId horizon;
    engine::ObjectId refused;
    engine::ObjectId sessions;
    bool restoring;
  };

  absl::StatusOr<Trees> ReadTrees(engine::Reader& reader);
  absl::StatusOr<Execution> Format(engine::Transaction& transaction,
                                   uint64_t sequence);
  absl::StatusOr<RefusedRequests> ReadRefused(engine::Reader& reader,
                                              const Trees& trees);
  absl::StatusOr<Execution> Refuse(engine::Transaction& transaction,
                                   const MutationView& mutation,
                                   uint64_t sequence);
  // What the head submits by itself, by no client; nothing: it is another one.
  absl::StatusOr<std::optional<Execution>> ExecuteOwn(
      engine::Transaction& transaction, const Trees& trees,
      const MutationView& mutation, uint64_t sequence, bool* changed);
  absl::StatusOr<Execution> ExecuteInSession(engine::Transaction& transaction,
                                             const Trees& trees,
                                             const MutationView& mutation,
                                             uint64_t sequence, bool* changed,
                                             RequestMeter* meter,
                                             const KeyScope* scope);
  // The function's result.
  absl::StatusOr<std::string> Run(engine::Transaction& transaction,
                                  const Trees& trees,
                                  const MutationView& mutation,
                                  uint64_t sequence, bool* changed,
                                  RequestMeter* meter, const KeyScope* scope);
  absl::StatusOr<uint64_t> ReadHorizon(engine::Reader& reader,
                                       const Trees& trees);
  absl::StatusOr<Lookup> LookUp(engine::Reader& reader, const Trees& trees,
                                uint64_t client_id, uint64_t since);
  // The stored outcome when `mutation` has committed before; nothing when it is
  // the client's next; else why it can be neither.
  absl::StatusOr<std::optional<Execution>> CheckRepeated(
      engine::Reader& reader, const Trees& trees, const MutationView& mutation);
  absl::Status StoreOutcome(engine::KeyValue& clients,
                            const MutationView& mutation, uint64_t sequence,
                            const std::string& result);
  // Drops the outcomes of mutation.dropped_clients.
  absl::Status DropOutcomes(engine::Transaction& transaction,
                            const Trees& trees, const MutationView& mutation,
                            uint64_t sequence);

  const ProcedureRegistry* const procedures_;
  const engine::ObjectId root_;
  Sessions sessions_;
  engine::VersionSummary summary_;  // of the objects
  bool summarized_ = false;         // it knows all of the tree
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_MACHINE_H_
