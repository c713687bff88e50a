// How a node's heap follows the chain. The core calls it; in a node it is a
// HeapExecutor, in tests of the protocol a list.
#ifndef KAMINO_REPLICA_EXECUTOR_H_
#define KAMINO_REPLICA_EXECUTOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/transaction.h"
#include "replica/log_entry.h"

namespace kamino::replica {

// How an entry that a restart interrupted is mended (Kamino-Tx, 5.3).
enum class Mend {
  kForward,  // to what the predecessor, which has executed it, holds
  kBack,     // to what the successor, which has not, holds
};

class Executor {
 public:
  virtual ~Executor() = default;

  // Executes an entry's mutations in place and makes its effects durable. An
  // error means that the node must stop.
  virtual absl::Status Execute(const LogEntry& entry) = 0;

  // --- At a neighbour: appends the bytes that the intent covers here.
  // kInvalidArgument: they do not lie among the heap's objects.
  virtual absl::Status ReadIntent(const engine::Intent& intent,
                                  std::string* bytes) = 0;

  // --- At the node that restarted. `intents` are all there are to be mended;
  // each gets the neighbour's bytes, in Mender::Order.
  // Doing it all again, after a crash on the way, leads to the same. An error
  // means that the node must stop.
  virtual absl::Status BeginMending(const engine::WriteSet& intents) = 0;
  virtual absl::Status MendIntent(const engine::Intent& intent,
                                  absl::string_view bytes, Mend mend) = 0;
  // All that was mended is durable.
  virtual void EndMending() = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_EXECUTOR_H_
