// Executes requests that are ready together as one log entry, in a transaction
// that never waits for a lock.
#ifndef KAMINO_HEAD_BATCH_EXECUTOR_H_
#define KAMINO_HEAD_BATCH_EXECUTOR_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "head/attempt.h"
#include "head/head_context.h"
#include "head/head_parts.h"
#include "head/request.h"
#include "replica/core/chain_core.h"

namespace kamino::head {

// Whether a request that failed alone, with that answer, may succeed if it
// drops or closes as little as it can.
bool MayEvictLess(const Request& request, const absl::Status& status);

// Not thread-safe: the core thread owns it.
class BatchExecutor {
 public:
  explicit BatchExecutor(HeadParts* head);

  // Executes `batch` in one transaction. When batch[i] spoils it, everything
  // is rolled back, no request is answered, and i and the attempt are returned.
  std::optional<std::pair<size_t, Attempt>> Try(std::vector<Request>* batch,
                                                absl::Time now,
                                                replica::Actions* actions);

  // Not OK when the heap cannot be trusted any more.
  const absl::Status& fatal() const { return fatal_; }

 private:
  Attempt ExecuteOne(engine::Transaction& transaction, Request& request,
                     uint64_t sequence, BatchClients* clients, absl::Time now);
  // Chooses the parts of the mutation that the head chooses, and makes room for
  // its outcome. An error is the request's answer, or that of the transaction.
  absl::Status Prepare(engine::Transaction& transaction,
                       const BatchClients& clients, absl::Time now,
                       Request* request);
  // Not OK: the function is not in force, and the request's outcome is not
  // stored.
  absl::Status CheckInForce(engine::Transaction& transaction,
                            const replica::Mutation& mutation);
  // Notes what an executed mutation changes for the rest of the batch.
  void NoteExecuted(const replica::Mutation& mutation,
                    BatchClients* clients) const;
  // Reports the waiting time of a request that is executed now.
  void NoteWait(Request* request, absl::Time now);
  // Counts a request that failed; returns its attempt, given how much was
  // declared before it.
  Attempt NoteFailure(engine::Transaction& transaction,
                      const absl::Status& status, size_t declared,
                      bool changed);
  // `executed` requests of the batch were executed, each as the next mutation.
  void CommitBatch(engine::Transaction& transaction, uint32_t executed,
                   std::vector<Request>* batch, std::vector<Attempt> attempts,
                   absl::Time now, replica::Actions* actions);
  void NoteCommitted(const replica::Mutation& mutation, const Attempt& attempt,
                     absl::Time now);
  void Abort(engine::Transaction& transaction);

  HeadParts* const head_;
  HeadContext* const context_;  // head_'s
  uint32_t executed_ = 0;       // requests, at their first execution
  absl::Status fatal_;
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_BATCH_EXECUTOR_H_
