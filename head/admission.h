// The head's part of the chain protocol (Kamino-Tx, section 5.1): admits
// requests, executes them in place against the undo copy, passes committed ones
// to the chain, parks dependent ones, and answers when the tail has completed
// them.
//
// The path of a request:
//   1. Requests that are ready together are executed as one log entry, in the
//      order of arrival, in a transaction that never waits for a lock. Ready
//      requests are new ones and those that a lock release has freed; so a hot
//      index leaf admits a batch per round trip rather than one request.
//      While the successor executes an entry, the head executes the next: an
//      entry has at most half of the requests that wait or are in flight, and
//      is sent before the next is executed.
//   2. A request that meets a locked object undoes its changes, holds nothing,
//      and is parked on that object, so there is no deadlock. Its batch
//      continues without it, from the start if it had changed something; it is
//      parked once the batch has ended.
//   3. A request that fails changes nothing and never enters the chain. Nor
//      does one whose outcome is stored already.
//   4. The entry becomes durable in the ring, then its commit record becomes
//      durable, then the entry is sent. Its locks stay until the tail has
//      completed it and the undo copy has it. Its requests are answered when it
//      is completed, including those that failed within it: they may have seen
//      its changes.
//
// With pipelined dependent requests (AdmissionOptions::pipelines) locks only
// wait for the undo copy. So a request may see changes that are not completed,
// fail because of them, or repeat one of them: in each case it is answered once
// everything executed before it is completed.
//
// head/quarantine.h says how a head treats a request on which another head may
// have crashed.
//
// Every executed request is a mutation with its own number; the log entry holds
// all of them. Requests that fail or repeat get no number.
//
// No I/O, threads or clocks inside. Not thread-safe: the core thread owns it.
#ifndef KAMINO_HEAD_ADMISSION_H_
#define KAMINO_HEAD_ADMISSION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/kamino/kamino_store.h"
#include "head/admission_options.h"
#include "head/batch_executor.h"
#include "head/head_context.h"
#include "head/head_sessions.h"
#include "head/request.h"
#include "replica/core/chain_core.h"
#include "replica/state/state_machine.h"

namespace kamino::head {

class Admission {
 public:
  // All pointers must outlive this. `store` must be fresh or recovered, with
  // no transaction running; the core must be head.
  Admission(AdmissionOptions options, engine::KaminoStore* store,
            replica::StateMachine* state, replica::ChainCore* core);
  // Requests still here are answered with REASON_OUTCOME_UNKNOWN (executed)
  // or REASON_NOT_HEAD (not executed).
  ~Admission();

  // Section 5.2: a new head holds the locks of everything in its ring that is
  // not known to be completed. Formats the chain's state if it is new and never
  // had one. After an error the node must stop; one error is that the state's
  // root cannot be read, which must not be formatted over.
  absl::Status Promote(absl::Time now, replica::Actions* actions);

  // Accepts the request; ExecuteReady executes it. A session's request
  // (Mutation::in_session) renews its lease.
  void Submit(Request request, absl::Time now);

  // The sessions of clients (docs/formats/session.md).
  HeadSessions& sessions() { return head_.sessions; }
  const HeadSessions& sessions() const { return head_.sessions; }

  // Executes ready requests: answers, parks or sends them. May leave some for
  // the next call: after an entry that a successor is to execute meanwhile, and
  // to limit the call's duration.
  void ExecuteReady(absl::Time now, replica::Actions* actions);

  // The tail has applied everything up to `sequence`: answers, releases locks.
  void OnCompleted(uint64_t sequence) { head_.in_flight.OnCompleted(sequence); }

  // Copies up to `max` committed transactions to the undo copy and releases
  // their locks. Returns how many are left.
  size_t PropagateToUndoCopy(size_t max) {
    return context_.store->PropagateToUndoCopy(max);
  }

  // Stops executing, as Retire does; but new requests wait until there is
  // another head, and are then redirected to it.
  void Hold() { held_ = true; }

  // A planned stop of this process: nothing more is executed, and the next
  // ExecuteReady ends any announcement.
  void Retire() { retired_ = true; }

  // Answers waiting requests whose deadline has passed or whose client has
  // given up, except one that was announced to the successor.
  void OnTick(absl::Time now);

  // Whether ExecuteReady has something to execute.
  bool has_ready() const;

  // Whether the last call of ExecuteReady has used up its turn.
  bool turn_is_over() const { return head_.turn.is_over(); }

  AdmissionStats stats() const;
  // Not OK when the heap cannot be trusted any more; the node must stop.
  const absl::Status& fatal() const { return executor_.fatal(); }
  // Not OK after a request met a damaged object. The request waits, and nothing
  // is executed: the node should leave the chain, or answer the request with
  // that.
  const absl::Status& damage() const { return damage_; }
  // Answers that request; others may meet damage again.
  void AnswerDamage();

 private:
  absl::Status FormatState(absl::Time now, replica::Actions* actions);
  std::vector<Request> TakeBatch();
  bool HasSuccessor() const;
  // Most requests of the next batch.
  size_t BatchLimit() const;
  // Executes `batch`. Requests that spoil it are parked, to be executed alone,
  // or answered if they were alone already.
  void ExecuteBatch(std::vector<Request> batch, absl::Time now,
                    replica::Actions* actions);
  bool UndoCopyIsFarBehind() const;

  HeadParts head_;
  HeadContext& context_;  // head_'s
  BatchExecutor executor_;
  bool retired_ = false;
  bool held_ = false;
  absl::Status damage_;
  std::optional<Request> damaged_;  // the request that met it
};

}  // namespace kamino::head

#endif  // KAMINO_HEAD_ADMISSION_H_
