// Applies the chain to a node's heap. The core calls it; in a node it is a
// HeapExecutor, in tests of the protocol a list.
#ifndef KAMINO_REPLICA_STATE_EXECUTOR_H_
#define KAMINO_REPLICA_STATE_EXECUTOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/transaction.h"
#include "replica/log/log_entry.h"

namespace kamino::replica {

// How an entry that a restart interrupted is repaired (Kamino-Tx, 5.3).
enum class RepairDirection {
  kForward,  // forward to the state of the predecessor, which executed it
  kBack,     // back to the state of the successor, which did not
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Executes an entry's mutations in place and makes its effects durable.
  // Returns the hash of the result (engine::AfterImage), or the entry's own
  // where this executor has none. kDataLoss: this execution differs from the
  // head's, and has stopped at some point. After another error the node must
  // stop; REASON_UNKNOWN_PROCEDURE: this program lacks a procedure of the
  // entry.
  virtual absl::StatusOr<uint64_t> Execute(const LogEntry& entry) = 0;
  // The same without effect. All entries before it are executed.
  virtual absl::StatusOr<uint64_t> Try(const LogEntry& entry) = 0;
  // The hash of the last executed entry's result.
  virtual absl::StatusOr<uint64_t> HashImage(const LogEntry& entry) = 0;

  // The bytes that the intent covers here, in place: valid until something is
  // executed or repaired. kInvalidArgument: they do not lie among the heap's
  // objects.
  virtual absl::StatusOr<absl::string_view> ImageOf(
      const engine::Intent& intent) = 0;

  // --- In a mode in which nodes roll back by themselves (kTraditional).

  // Rolls back, durably, stores of entries that the ring does not mark applied.
  // After an error the node must stop.
  virtual absl::Status RollBack() {
    return absl::UnimplementedError("this executor cannot roll back");
  }

  // --- At a neighbour: appends the bytes that the intent covers here. Errors
  // as ImageOf's.
  virtual absl::Status ReadIntent(const engine::Intent& intent,
                                  std::string* bytes) = 0;

  // --- At the restarted node. `intents` are all that must be repaired; each
  // receives the neighbour's bytes, in ObjectRepair::Order, or those of its log
  // entry's after-image, entry by entry (replica/repair/roll_forward.h).
  // `interrupted`: some may be torn. If not, only the objects that they touch
  // are examined: a larger heap takes no longer. Repeating everything after a
  // crash has the same result. After an error the node must stop.
  virtual absl::Status BeginRepair(const engine::WriteSet& intents,
                                   bool interrupted) = 0;
  // kInvalidArgument: `bytes` do not match the intent; nothing was done.
  virtual absl::Status RepairIntent(const engine::Intent& intent,
                                    absl::string_view bytes,
                                    RepairDirection direction) = 0;
  // All repairs are durable. `confirmed`: hashes show that the result is the
  // head's; otherwise it is only the neighbour's word.
  virtual void EndRepair(bool confirmed) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_STATE_EXECUTOR_H_
