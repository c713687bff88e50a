// What the nodes of a chain agree on: the objects, and each client's latest
// outcome, as two trees on one heap; and how a request changes them.
//
// Deterministic: the same requests in the same order make the same
// declarations to the transaction, on every node.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_STATE_MACHINE_H_
#define KAMINO_REPLICA_STATE_MACHINE_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/index/key_value.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/operation.pb.h"
#include "replica/procedure.h"
#include "replica/request_meter.h"

namespace kamino::replica {

// The first operation of every chain: makes the two trees. Sent by the first
// head, by no client.
inline constexpr char kFormatFunction[] = "kamino.format";

class StateMachine {
 public:
  // `root` is the heap's root object. Both must outlive this.
  StateMachine(const ProcedureRegistry* procedures, engine::ObjectId root)
      : procedures_(procedures), root_(root) {}

  struct Execution {
    std::string result;
    uint64_t sequence = 0;  // the operation that the result is of
    bool repeated = false;  // a stored outcome; nothing was changed
  };

  // Runs one request within `transaction`. On an error the transaction must be
  // aborted if it has declared anything for this request, or if *changed: that
  // it has written to objects that the transaction itself has allocated shows
  // in no declaration. `changed` may be null. So may `meter`, on which counts
  // what the request's function touches: there is no limit then.
  absl::StatusOr<Execution> Execute(
      engine::Transaction& transaction,
      const kamino::internal::v1::ChainRequest& request, uint64_t sequence,
      bool* changed = nullptr, RequestMeter* meter = nullptr);

  // Runs all requests of an operation that the head has executed; an error
  // means that this node differs from the head.
  absl::Status Replay(engine::Transaction& transaction,
                      const kamino::internal::v1::ChainOperation& operation,
                      uint64_t sequence);

  // For reads. kUnavailable (REASON_RECONFIGURING): the chain's first
  // operation has not come yet.
  absl::StatusOr<engine::KeyValueReader> Objects(engine::Reader& reader);

  absl::StatusOr<absl::optional<kamino::internal::v1::StoredOutcome>>
  FindOutcome(engine::Reader& reader, uint64_t client_id);

  // Every client with a stored outcome, until `visit` returns false.
  absl::Status VisitClients(
      engine::Reader& reader,
      absl::FunctionRef<bool(uint64_t client_id,
                             const kamino::internal::v1::StoredOutcome&)>
          visit);

  bool Formatted(engine::Reader& reader);

 private:
  struct Trees {
    engine::ObjectId objects;
    engine::ObjectId clients;
  };

  absl::StatusOr<Trees> ReadTrees(engine::Reader& reader);
  absl::StatusOr<Execution> Format(engine::Transaction& transaction,
                                   uint64_t sequence);
  // The stored outcome when `request` has committed before; nothing when it is
  // the client's next; else why it can be neither.
  absl::StatusOr<absl::optional<Execution>> CheckRepeated(
      engine::KeyValueReader& clients,
      const kamino::internal::v1::ChainRequest& request);
  absl::Status StoreOutcome(engine::KeyValue& clients,
                            const kamino::internal::v1::ChainRequest& request,
                            uint64_t sequence, const std::string& result);

  const ProcedureRegistry* const procedures_;
  const engine::ObjectId root_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_MACHINE_H_
