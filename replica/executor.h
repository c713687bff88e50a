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

  // Executes an entry's mutations in place and makes its effects durable. The
  // hash of what it has left (engine::AfterImage); that of the entry where this
  // tells none. kDataLoss: this execution differs from the head's, and has
  // stopped somewhere. Another error means that the node must stop.
  virtual absl::StatusOr<uint64_t> Execute(const LogEntry& entry) = 0;
  // The same without any effect. All entries before it are executed.
  virtual absl::StatusOr<uint64_t> Try(const LogEntry& entry) = 0;
  // That of what an entry, which was executed last, has left.
  virtual absl::StatusOr<uint64_t> HashImage(const LogEntry& entry) = 0;

  // The bytes that the intent covers here, where they lie: until something is
  // executed, or mended. kInvalidArgument: they do not lie among the heap's
  // objects.
  virtual absl::StatusOr<absl::string_view> ImageOf(
      const engine::Intent& intent) = 0;

  // --- In a mode in which nodes take back by themselves (kTraditional).

  // Takes back, durably, what was stored of entries that the ring does not say
  // are applied. An error means that the node must stop.
  virtual absl::Status TakeBack() {
    return absl::UnimplementedError("nothing is taken back here");
  }

  // --- At a neighbour: appends the bytes that the intent covers here. Errors
  // as ImageOf's.
  virtual absl::Status ReadIntent(const engine::Intent& intent,
                                  std::string* bytes) = 0;

  // --- At the node that restarted. `intents` are all there are to be mended;
  // each gets the neighbour's bytes, in Mender::Order, or those of its log
  // entry's after-image, entry by entry (replica/roll_forward.h).
  // `interrupted`: some may be half executed. If not, nothing but what they
  // touch is looked at: it takes no longer for a larger heap. Doing it all
  // again, after a crash on the way, leads to the same. An error means that the
  // node must stop.
  virtual absl::Status BeginMending(const engine::WriteSet& intents,
                                    bool interrupted) = 0;
  // kInvalidArgument: `bytes` are not those of the intent; nothing was done.
  virtual absl::Status MendIntent(const engine::Intent& intent,
                                  absl::string_view bytes, Mend mend) = 0;
  // All that was mended is durable. `borne_out`: it is what the head made, as
  // its hashes say; else it is the neighbour's word.
  virtual void EndMending(bool borne_out) = 0;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_EXECUTOR_H_
