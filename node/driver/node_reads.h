// Reads of a node's objects and outcomes (docs/design/reads.md).
#ifndef KAMINO_NODE_DRIVER_NODE_READS_H_
#define KAMINO_NODE_DRIVER_NODE_READS_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "base/key_scope.h"
#include "base/principal.h"
#include "engine/index/key_value.h"
#include "kamino/v1/kamino.pb.h"
#include "node/driver/chain_context.h"
#include "replica/log/objects_in_flight.h"

namespace kamino::node {

// Which nodes may answer a read.
enum class ReadAt {
  kTail,
  kAnyReplica,  // any node of the view where none of its objects is in flight
};

// For a GetRequest or BatchGetRequest.
template <typename Request>
ReadAt ReadAtOf(const Request& request) {
  return request.any_replica() ? ReadAt::kAnyReplica : ReadAt::kTail;
}

// Counts of Get, BatchGet and parts of scans, including errors, since the
// start.
struct ReadStats {
  uint64_t answered = 0;  // as tail
  // Reads at any replica, at a node other than the tail.
  uint64_t clean = 0;      // answered
  uint64_t not_clean = 0;  // refused: REASON_NOT_CLEAN
};

// Reads the objects of a snapshot or of the present.
using Reading = absl::FunctionRef<absl::Status(engine::KeyValueReader&)>;

// Core thread only.
class NodeReads {
 public:
  // `context` outlives this.
  explicit NodeReads(ChainContext* context)
      : context_(*context), in_flight_(context->storage->ring()) {}

  // Runs `read` if this node may serve reads: it is the tail, lacks nothing
  // that was acknowledged, and holds its lease, also afterwards. With `at`
  // another node may too, unless `read` meets an object in flight:
  // REASON_NOT_CLEAN. The answer is as of ChainProgress::settled, the last
  // mutation that a tail has applied. `scope`: the visible objects; null: all.
  absl::Status Read(const KeyScope* scope, Reading read,
                    ReadAt at = ReadAt::kTail);

  // The same as Read for the outcome of a mutation. `by`, the caller, may not
  // read outcomes of another owner's session; null: may read all.
  absl::Status ReadOutcome(const kamino::v1::RequestId& id,
                           kamino::v1::GetOutcomeResponse* response,
                           const PrincipalPtr& by = nullptr);

  // Whether this node may serve reads now.
  absl::Status CheckMayRead(ReadAt at = ReadAt::kTail) const;

  const ReadStats& stats() const { return stats_; }

 private:
  absl::Status ReadIfClean(const KeyScope* scope, Reading read);

  ChainContext& context_;
  replica::ObjectsInFlight in_flight_;
  ReadStats stats_;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_NODE_READS_H_
