// The deterministic part of a node: protocol core, state, admission while it is
// head, reads. Like its parts it has no I/O, threads or clocks; a simulator can
// drive it as node/driver/node.h does.
//
// Use: any number of inputs, then EndOfBatch, then carry out the actions (see
// replica::Actions for the order), then PropagateToBackup, which is thus off
// the critical path.
//
// Not thread-safe: the core thread owns it.
#ifndef KAMINO_NODE_DRIVER_CHAIN_NODE_H_
#define KAMINO_NODE_DRIVER_CHAIN_NODE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/principal.h"
#include "engine/heap/open_snapshots.h"
#include "engine/index/key_value.h"
#include "engine/kamino/kamino_store.h"
#include "head/admission.h"
#include "head/request.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/view.h"
#include "membership/view_source.h"
#include "node/storage/storage.h"
#include "node/storage/storage_copy.h"
#include "replica/chain_core.h"
#include "replica/heap_executor.h"
#include "replica/heap_ranges.h"
#include "replica/objects_in_flight.h"
#include "replica/procedure.h"
#include "replica/state_machine.h"

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

class ChainNode {
 public:
  struct Options {
    // The storage determines the chain's mode and its consequences.
    replica::ChainOptions chain;
    head::AdmissionOptions admission;
    // Whether this node, in view `view_id`, may answer by itself now: it holds
    // the manager's lease. Called after an answer was created, before it
    // leaves.
    std::function<bool(uint64_t view_id)> lease_valid;
    // Reports the current activity and its client or link, for observers.
    std::function<void(absl::string_view what, uint64_t whose)> doing =
        [](absl::string_view, uint64_t) {};
    engine::OpenSnapshotsOptions snapshots = {};
  };

  // Both must outlive this.
  ChainNode(Options options, Storage* storage,
            const replica::ProcedureRegistry* procedures);

  // --- Inputs; `now` is monotonic.

  void OnView(const membership::View& view, absl::Time now);
  void OnLinkOpened(replica::LinkId link, absl::Time now);
  void OnLinkClosed(replica::LinkId link, absl::Time now);
  void OnMessage(replica::LinkId link,
                 const kamino::internal::v1::ChainMessage& message,
                 absl::string_view payload, absl::Time now);
  void OnTick(absl::Time now);
  // As replica::ChainCore.
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout) {
    core_.OnStoodStill(time, failure_timeout);
  }
  // Whether the manager wants this node to join the chain.
  void OnInvited(bool invited, absl::Time now);

  // Executes nothing new any more: mutations wait for another head to which
  // they can be redirected. Then drained() follows, unless the links break.
  void Hold();
  // A planned stop of the process: nothing more is executed, and any
  // announcement to the successor ends. Then retired() follows, unless the link
  // breaks.
  void Retire();
  // The end: answers waiting requests. No more input.
  void Stop();

  // A mutation. Answered at once when this node is not the head.
  void Submit(head::Request request, absl::Time now);

  // Sessions, as in head::HeadSessions. A node that is not the head says so at
  // once, and finds no session.
  void OpenSession(const head::SessionParams& params, absl::Time now,
                   head::HeadSessions::Opened done);
  void AskForSession(uint64_t id, uint64_t epoch, absl::Time now,
                     head::HeadSessions::Opened done,
                     const PrincipalPtr& by = nullptr);
  void CloseSession(uint64_t id, absl::Time now,
                    absl::AnyInvocable<void(absl::Status)> done,
                    const PrincipalPtr& by = nullptr);
  void HearSession(uint64_t id, absl::Time now);
  std::optional<head::SessionInfo> FindSession(uint64_t id) const;

  // The result of the inputs, to be carried out before the next one. A fatal
  // action ends the node: it comes alone, and from then on nothing else leaves
  // the node, and inputs are ignored.
  replica::Actions EndOfBatch(absl::Time now);

  // Copies up to `max` committed transactions to the undo copy. Returns whether
  // there is more to do: another EndOfBatch is due.
  bool PropagateToBackup(size_t max);

  // Builds more of the summary for range comparisons
  // (replica::StateMachine::Summarize), for less than a millisecond. Returns
  // whether there is more to do.
  bool Summarize();

  // --- Reads (docs/use/reads.md).

  // Runs `read` if this node may serve reads: it is the tail, lacks nothing
  // that was acknowledged, and holds its lease, also afterwards. With `at`
  // another node may too, unless `read` meets an object in flight:
  // REASON_NOT_CLEAN. The answer is as of settled(), the last mutation that a
  // tail has applied. `scope`: the visible objects; null: all.
  using Reading = absl::FunctionRef<absl::Status(engine::KeyValueReader&)>;
  absl::Status Read(const KeyScope* scope, Reading read,
                    ReadAt at = ReadAt::kTail);
  const ReadStats& read_stats() const { return read_stats_; }

  // --- Snapshots (docs/design/open_snapshots.md): reads of one moment that
  // continue while the chain does.

  struct OpenedSnapshot {
    uint64_t id = 0;
    uint64_t sequence = 0;  // of the last mutation in it
  };
  // `while_restoring`: also objects of an unfinished restore, which are
  // otherwise refused (REASON_RESTORING). Requires that this node may serve
  // reads as the tail: so everything acknowledged before is in it. Errors: as
  // Read's; kResourceExhausted.
  absl::StatusOr<OpenedSnapshot> OpenSnapshot(bool while_restoring = false);
  // Independent of the node's place meanwhile. kAborted: the snapshot has
  // ended; kNotFound: it is closed. `scope`: as Read's.
  absl::Status ReadSnapshot(const KeyScope* scope, uint64_t id, Reading read);
  void CloseSnapshot(uint64_t id);
  engine::OpenSnapshotsStats snapshot_stats() const {
    return snapshots_.stats();
  }

  // The same as Read for the outcome of a mutation. `by`, the caller, may not
  // read outcomes of another owner's session; null: may read all.
  absl::Status ReadOutcome(const kamino::v1::RequestId& id,
                           kamino::v1::GetOutcomeResponse* response,
                           const PrincipalPtr& by = nullptr);

  // --- State.

  // The successor cannot mistake anything under way here for a request on which
  // this node has crashed, and nothing more will begin.
  bool retired() const {
    return retiring_ &&
           (admission_ == nullptr || core_.links().announcements.over());
  }
  // While held: everything that it has executed is completed, and nothing is
  // announced.
  bool drained() const;
  const replica::ChainCore& core() const { return core_; }
  uint64_t incarnation() const { return options_.chain.incarnation; }
  // For the manager.
  membership::NodeReport report() const;
  // Everything in a report except cursors, debts and transfers, which change
  // all the time.
  struct Standing {
    uint64_t record = 0;  // NodeRecord::serial
    uint64_t view_id = 0;
    membership::Condition condition = membership::Condition::kUnknown;
    uint64_t caught_up_view = 0;

    friend bool operator==(const Standing&, const Standing&) = default;
  };
  Standing standing() const;
  const engine::Heap& heap() const { return *storage_->heap(); }
  std::optional<head::AdmissionStats> admission_stats() const;
  std::optional<engine::KaminoStats> store_stats() const;

 private:
  // Once this node is the head and its heap is repaired.
  void BecomeHeadIfDue(absl::Time now);
  absl::Status BecomeHead(absl::Time now);
  void StopBeingHead();
  absl::Status Failed() const;  // the error for clients
  absl::Status NotHead() const;
  absl::Status CheckMaySubmit() const;
  absl::Status CheckMayRead(ReadAt at = ReadAt::kTail) const;
  absl::Status ReadIfClean(const KeyScope* scope, Reading read);
  // The heap is replaced by another one.
  void ForgetHeap();
  void Fail(absl::Status status);
  bool failed() const { return failed_ || !pending_.fatal.ok(); }

  const Options options_;
  Storage* const storage_;
  replica::StateMachine state_;
  replica::HeapRanges ranges_;
  engine::OpenSnapshots snapshots_;
  std::map<uint64_t, std::unique_ptr<engine::Snapshot>> held_snapshots_;
  uint64_t last_snapshot_ = 0;
  replica::HeapExecutor executor_;
  StorageCopy copy_;
  replica::ChainCore core_;
  replica::ObjectsInFlight in_flight_;
  ReadStats read_stats_;

  // While head.
  std::unique_ptr<engine::KaminoStore> store_;
  std::unique_ptr<head::Admission> admission_;

  replica::Actions pending_;  // of inputs since the last EndOfBatch
  bool failed_ = false;       // permanent; EndOfBatch has said why
  bool cannot_summarize_ = false;
  bool retiring_ = false;
  bool holding_ = false;
};

}  // namespace kamino::node

#endif  // KAMINO_NODE_DRIVER_CHAIN_NODE_H_
