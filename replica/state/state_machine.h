// The replicated state: the objects, each client's latest outcome, and the
// sessions, as trees on one heap; and how a request changes them.
//
// Outcomes are dropped to bound their number. The state keeps the horizon: the
// highest number of all mutations whose outcome was dropped. A client sends
// with each mutation `since`: a number that the chain had reached before the
// client first sent it. The mutation's own number is higher, so if since >=
// horizon its outcome was not dropped. Otherwise, if no outcome is found, the
// chain refuses the request, as it cannot tell whether it was executed.
// Outcomes of an open session's mutations (replica/state/sessions.h) are never
// dropped.
//
// Deterministic: the same requests in the same order make the same
// declarations to the transaction, on every node.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_STATE_MACHINE_H_
#define KAMINO_REPLICA_STATE_STATE_MACHINE_H_

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
#include "replica/log/log_entry.h"
#include "replica/procedure.h"
#include "replica/request_meter.h"
#include "replica/state/refused_requests.h"
#include "replica/state/sessions.h"

namespace kamino::replica {

// The first mutation of every chain: makes the trees. Submitted by the first
// head, not by a client; an error if there is a state already.
inline constexpr char kFormatFunction[] = "kamino.format";

// Records a request on which a head crashed, or clears its bytes:
// RefuseRequest. Submitted by the head, not by a client.
inline constexpr char kRefuseFunction[] = "kamino.refuse";

// Drops outcomes to make room in the heap, and does nothing else. Submitted by
// the head, not by a client.
inline constexpr char kDropFunction[] = "kamino.drop";

// Opens a session: OpenSession. Changes nothing if it is open already.
// Submitted by the head, not by a client.
inline constexpr char kOpenSessionFunction[] = "kamino.open_session";

// Closes sessions: CloseSessions. Submitted by the head, not by a client.
inline constexpr char kCloseSessionsFunction[] = "kamino.close_sessions";

// For a session: takes its number, and changes nothing else.
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
    // For a session: another mutation has voided the number.
    bool voided = false;
    // For a session: bytes of the result that this one replaces.
    uint64_t replaced_bytes = 0;
  };

  // Runs one mutation within `transaction`, as number `sequence`. After an
  // error the transaction must be aborted if this call has declared anything,
  // or has set *changed: writes to objects that the transaction itself has
  // allocated need no declaration. `changed` may be null. `meter` counts and
  // limits what the mutation's function touches; null: no limit. `scope`: what
  // it may touch; null: everything. Only the head refuses by it: a mutation in
  // the log was allowed, so other nodes need not know. The code that ends the
  // transaction calls Ended.
  absl::StatusOr<Execution> Execute(engine::Transaction& transaction,
                                    const MutationView& mutation,
                                    uint64_t sequence, bool* changed = nullptr,
                                    RequestMeter* meter = nullptr,
                                    const KeyScope* scope = nullptr);

  // The transaction of the calls of Execute since the last Ended has committed,
  // or was rolled back.
  void Ended(bool committed);

  // Runs all mutations of an entry that the head has executed, and calls Ended.
  // An error means that this node differs from the head. `trial`: the
  // transaction has no effect.
  absl::Status Replay(engine::Transaction& transaction, const LogEntry& entry,
                      bool trial = false);

  // --- The summary for range comparisons (engine/index/version_summary.h). It
  // is volatile, so it is built step by step once the heap is there.

  // Builds more of it, reading about `objects` of the heap. False: there is
  // more to do. Not within a transaction, nor on a torn heap.
  absl::StatusOr<bool> Summarize(engine::Reader& reader, uint64_t objects);
  // The heap's bytes have changed in another way than by Execute: drops all
  // volatile state.
  void Forget();

  // For reads. kUnavailable (REASON_RECONFIGURING): the chain's first mutation
  // has not arrived yet. `scope`, which outlives the result: the reader's;
  // null: everything. REASON_RESTORING: not all objects are restored yet, and
  // `while_restoring` is false.
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

  // Sessions::FindPlace, for a number whose outcome is asked for.
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

  // Visits every open session, by id. Not within a transaction.
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

  // False before the chain's first mutation. After an error it is not known:
  // the damage may be confined to the root object.
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
  absl::StatusOr<Execution> Refuse(engine::Transaction& transaction,
                                   const MutationView& mutation,
                                   uint64_t sequence);
  // For functions that the head submits itself; nothing: it is another one.
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
  absl::StatusOr<Lookup> LookUp(engine::Reader& reader, const Trees& trees,
                                uint64_t client_id, uint64_t since);
  // The stored outcome when `mutation` has committed before; nothing when it is
  // the client's next; else an error that says why it is neither.
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
  bool summarized_ = false;         // it covers the whole tree
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_STATE_MACHINE_H_
