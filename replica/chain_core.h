// The chain protocol of one node, without I/O (Kamino-Tx, section 5).
//
// Inputs are views, links, their messages, and ticks; the results are Actions,
// which the caller carries out in order. The core has no sockets, threads,
// clocks or randomness; it calls the heap and the log ring directly. A
// simulator drives the same class as a real node.
//
// This class only decides which of these parts receives an input, in which
// order:
//   - Upstream: a node appends its predecessor's entries to its ring, durably,
//     before it acknowledges;
//   - Downstream: executed entries are sent on, in order;
//   - Completions: the tail completes to the head; clean-ups travel upstream;
//   - Returning: a restarted node takes part once its neighbours have confirmed
//     that it holds what it must;
//   - Mending: it repairs torn entries from a neighbour's data (section 5.3),
//     or RollForward from the entries' after-images;
//   - Announcements: a head's announcements to its successor before it
//     executes;
//   - Execution: received entries are executed, in place, in order;
//   - DeadlyEntries: quarantined entries, which may have crashed a node;
//   - Dispute: a divergence, where an entry's result here differs from the
//     head's; Arbitration asks and answers which node is right, DisputedResult
//     handles this node's result;
//   - Scrub, and ScrubExchange over the links: members compare their data in
//     the background;
//   - Damage: this node's data is unusable;
//   - Joiner, and Donor at the tail: a joining node receives the tail's heap,
//     then its log entries, and only then a place in the chain (section 5.2);
//   - CatchUpHistory: what nodes that left the chain will lack when they
//     return;
//   - Outbox: outgoing messages.
// The table MessageRules says which message may arrive on which link. A message
// that may not, or that contradicts what its sender can know, ends the link and
// never the node. The node accepts links from a peer that keeps sending such
// messages only after growing pauses (Misfits). The head's own part (admission,
// locks, outcomes) is in head/, which calls AppendLocal and CommitLocal and
// learns of completion by Actions::completed.
//
// Invariants:
//   1. received here >= received at the successor; entries that the successor
//      lacks are in this node's ring.
//   2. A message of another view changes nothing.
//   3. cleaned <= what the whole chain has applied.
//   4. That an entry is applied is durable before a later node receives it and
//      before it is completed. So after a restart the entries not marked
//      applied are in flight: they share no object, and no later entry that
//      touches their objects was executed anywhere. (Where dependent entries
//      are pipelined, by base/chain_mode.h, they may share objects, and one may
//      have been executed before.)
//   5. So applied here >= received at the successor and >= cleaned anywhere. A
//      node for which that does not hold has a stale copy of its data.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CHAIN_CORE_H_
#define KAMINO_REPLICA_CHAIN_CORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/log_limit.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/chain.pb.h"
#include "kamino/v1/kamino.pb.h"
#include "membership/view.h"
#include "replica/announcements.h"
#include "replica/arbitration.h"
#include "replica/catch_up_history.h"
#include "replica/chain_actions.h"
#include "replica/chain_context.h"
#include "replica/chain_options.h"
#include "replica/completions.h"
#include "replica/damage.h"
#include "replica/deadly_entries.h"
#include "replica/debt.h"
#include "replica/dispute.h"
#include "replica/disputed_result.h"
#include "replica/donor.h"
#include "replica/downstream.h"
#include "replica/execution.h"
#include "replica/executor.h"
#include "replica/joiner.h"
#include "replica/link_watch.h"
#include "replica/log_entry.h"
#include "replica/log_ring.h"
#include "replica/mending.h"
#include "replica/message_rules.h"
#include "replica/misfits.h"
#include "replica/node_record.h"
#include "replica/outbox.h"
#include "replica/place.h"
#include "replica/returning.h"
#include "replica/roll_forward.h"
#include "replica/scrub.h"
#include "replica/scrub_exchange.h"
#include "replica/scrubbed_heap.h"
#include "replica/state_copy.h"
#include "replica/upstream.h"

namespace kamino::replica {

class ChainCore {
 public:
  // All pointers must outlive the core. `ring` and `record` are as a restart
  // found them: log entries that are not marked applied count as torn. If
  // `scrubbed` is null, the node takes no part in scrubs.
  ChainCore(ChainOptions options, LogRing* ring, NodeRecord* record,
            Executor* executor, StateCopy* copy,
            ScrubbedHeap* scrubbed = nullptr);

  // --- Inputs. `now` is monotonic and never goes back.

  // Ignores views not newer than view(). Installing a view closes every link:
  // nothing of an older view gets through afterwards.
  void OnView(const membership::View& view, absl::Time now, Actions* actions);

  void OnLinkOpened(LinkId link, absl::Time now, Actions* actions);
  void OnLinkClosed(LinkId link, absl::Time now, Actions* actions);
  // `payload`: the bytes behind the message; only an Append has any.
  void OnMessage(LinkId link, const kamino::internal::v1::ChainMessage& message,
                 absl::string_view payload, absl::Time now, Actions* actions);
  // Call it at least every reconnect_delay.
  void OnTick(absl::Time now, Actions* actions);
  // The node's core spent so long within one step and handled no input
  // meanwhile: its neighbours' answers may be late by that. At most
  // `failure_timeout` of it counts for one wait.
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout);
  // Whether the manager wants this node, which is a spare, to join.
  void OnInvited(bool invited, absl::Time now, Actions* actions);

  // Sends the log entries and acknowledgements that are due. Called once after
  // each batch of inputs, so that one message stands for many. The caller
  // carries the actions out before the next input: they refer to bytes in the
  // ring.
  void EndOfBatch(absl::Time now, Actions* actions);

  // --- The head's part.

  // The number that the next mutation gets.
  uint64_t next_sequence() const { return context_.ring->received() + 1; }

  // Makes an entry of these mutations durable in the ring; the first one is
  // next_sequence(). The head has executed them and sets the commit mark after
  // this. Errors as LogRing::Append; kInvalidArgument also when the entry is
  // larger than max_entry_bytes.
  absl::Status AppendLocal(absl::Span<const Mutation* const> mutations,
                           const engine::WriteSet& write_set,
                           const engine::AfterImage& image = {});

  // The commit mark of the last appended entry is durable: the entry may go
  // down the chain. Drains all regions of the node.
  void CommitLocal(Actions* actions);

  // This node found an object that cannot be read, as `found` says. If a
  // neighbour has everything, the node discards its data and ends. False: it
  // continues, and asks again at the next such object.
  bool LeaveAsDamaged(const absl::Status& found, Actions* actions);

  // Whether a head on probation may execute `request`: its successor knows of
  // it. If not, announces it; call this again after further inputs. Another
  // request replaces the last one.
  bool Announce(const RequestIdentity& request, Actions* actions);
  // This process has survived the last announced request.
  void EndAnnouncement(Actions* actions);
  // The successor remembers no announcement.
  bool announces_nothing() const { return announcements_.over(); }
  // A request on which an earlier head, or this one before its restart, may
  // have crashed. Returned once, and again each time another message names it.
  std::optional<RequestIdentity> TakeBlamed() {
    return announcements_.TakeBlamed();
  }

  // --- State.

  const membership::View& view() const { return place_.view; }
  membership::Role role() const { return place_.role(); }
  bool is_head() const { return place_.is_head(); }
  bool is_tail() const { return place_.is_tail(); }
  // It has a place in the chain and a heap on which it may execute.
  bool ready() const;
  // Nothing is known against its data. Otherwise a head accepts no more
  // requests.
  bool beyond_doubt() const {
    return !damage_.condemned() && !scrub_.in_doubt();
  }
  // The heap is neither torn nor being received.
  bool heap_whole() const { return has_state() && !half_executed(); }
  // For the manager.
  membership::Condition condition() const;
  // The first mutation of an entry whose result differs from the head's, while
  // it is not decided which node erred; 0: none.
  uint64_t disputed() const { return context_.record->state().disputed; }
  // The view whose tail sends every log entry to this node, which is outside.
  uint64_t caught_up_view() const;
  uint64_t completed() const { return completions_.completed(); }
  // A mutation up to which the whole chain has applied everything, as far as
  // this node knows. The next mutation always gets a higher number.
  uint64_t settled() const;
  // As of the last tick: for how long the successor has acknowledged none of
  // its entries; and for how long the chain has completed nothing that the head
  // has applied.
  absl::Duration append_debt() const { return append_debt_.age(); }
  absl::Duration completion_debt() const { return completion_debt_.age(); }
  // As of the last tick: for how long this view's links have never been up
  // together. Zero: they have, or the view has none.
  absl::Duration never_linked() const { return link_watch_.never_up(); }
  TransferStats transfer() const;
  const Scrub& scrub() const { return scrub_; }
  // Log entries, by their last mutations, that the successor or the joining
  // node was sent and has acknowledged; a new link sets both back. False: there
  // is no such node.
  bool replicates() const { return downstream_.replicates(); }
  uint64_t sent() const { return downstream_.sent(); }
  uint64_t acknowledged() const { return downstream_.acked(); }
  const TurnedDown& turned_down() const { return outbox_.turned_down(); }
  const LogRing& ring() const { return *context_.ring; }

  struct LinkState {
    std::string peer;
    kamino::v1::LinkRole role;
    LinkId link;
    bool connected;
  };
  std::vector<LinkState> links() const;
  // The core's use of that link.
  LinkUse UseOf(LinkId link) const;
  bool Uses(LinkId link) const { return UseOf(link) != LinkUse::kNone; }

 private:
  using Message = kamino::internal::v1::ChainMessage;

  // --- Views.

  // The index of this process in the view, given what its heap holds; -1: none.
  int PlaceIn(const membership::View& view) const;
  void LeaveView(absl::Time now);
  void EnterView(absl::Time now);
  // Whether the heap holds a state of the chain, possibly a stale one.
  bool has_state() const;
  bool behind() const;
  // The heap is torn, by interrupted entries or by a diverging one that was not
  // executed to its end.
  bool half_executed() const;
  // Log entries of the chain can follow this node's data, though it has no
  // place.
  bool may_resume() const {
    return behind() && !mending_.torn() &&
           context_.record->state().epoch == place_.view.epoch;
  }
  // This node has no place, and its data is the chain's state at some mutation,
  // apart from entries that its ring names.
  bool may_catch_up() const;
  // The heap's data, now or after a transfer, is of this view's cluster and
  // epoch.
  void TakeOrigin(NodeState* state) const;
  // The heap begins to receive another state. Logs the data that is lost, if it
  // is of an earlier epoch.
  void OnHeapVoid();
  void Record(membership::Condition condition);
  // This node's data is unusable: it must receive the chain's state anew.
  void DiscardState();

  // --- Messages.

  // False when the message is of another view; the answer is given then.
  bool CheckView(LinkId link, const Message& message);
  void TakeMessage(LinkId link, const Message& message,
                   absl::string_view payload, absl::Time now);
  // Ends links that carried messages they may not carry.
  void EndMisfits(absl::Time now);
  // The peer of a link in use.
  std::string PeerOf(LinkId link) const;
  // A link is gone, or will be.
  void Lose(LinkId link, absl::Time now);
  // Why this Hello is refused; "" if it is not.
  std::string RefuseHello(LinkId link, const kamino::internal::v1::Hello& hello,
                          absl::Time now) const;
  void OnHello(LinkId link, const kamino::internal::v1::Hello& hello,
               absl::Time now);
  void OnHelloAppend(LinkId link, const kamino::internal::v1::Hello& hello,
                     absl::Time now);
  void OnSync(LinkId link, const kamino::internal::v1::Sync& sync,
              absl::Time now);
  void ContinueDownstream(const kamino::internal::v1::Sync& sync);
  void OnReject(LinkId link, const Message& message, absl::Time now);
  void OnAppend(LinkId link, const kamino::internal::v1::Append& append,
                absl::string_view entry);
  void OnAppendAck(LinkId link, uint64_t received);
  void OnCompletion(LinkId link, uint64_t applied);
  void OnCleanUp(LinkId link, uint64_t cleaned);
  void OnFetch(LinkId link, const kamino::internal::v1::Fetch& fetch);
  void OnTransferMessage(LinkId link, const Message& message, absl::Time now);
  void OnStateWanted(LinkId link,
                     const kamino::internal::v1::StateWanted& wanted);

  // --- Consequences.

  void SendSync(LinkId link);
  void ExecuteReceived();
  // Begins the divergence; at a head, which has none before it, also ends it.
  void OnDissent(const Execution::Dissent& dissent);
  // At a head: its own result counts, and execution continues after it. (Not in
  // EnterView, which executes what follows.)
  void KeepOwnResult();
  // Takes the next step of an open divergence.
  void ContinueDispute(absl::Time now);
  // Quarantines entries (after, last]: a node may have crashed on them.
  void NoteDeadly(uint64_t after, uint64_t last);
  // No node has crashed on mutations up to here: all have applied them.
  uint64_t KnownComplete() const;
  void AdoptDeadly(absl::Time now);
  // A view replaces this one: entries on their way to the successor may have
  // crashed it.
  void NoteOnTheWay(const membership::View& next);
  void DropInterrupted();
  // The same by the entries' after-images.
  void AdoptImages();
  // Rolls entries forward up to there by their after-images and marks them
  // applied, durably; a failure stops the node.
  void ApplyImages(uint64_t last, bool interrupted);
  // The successor holds the state before the torn entry.
  bool MayTakeBack() const;
  // The entries to adopt are complete, and are executed like others.
  void ExecuteAdopted();
  void ForgetInterrupted();  // the heap is void
  // The heap is the result of the operations applied so far, and nothing is
  // known against it.
  bool may_compare() const;
  // A joining node asks to continue: refuses if the entries it needs cannot be
  // read.
  void CheckResumed(const kamino::internal::v1::Hello& hello);
  void NoteLinks(absl::Time now);
  // The member to which a link of that purpose is being opened; null: there is
  // no such link, or it is established.
  const membership::Member* Dials(
      kamino::internal::v1::LinkPurpose purpose) const;
  // True when this process has sent the Hello itself: its link ended, and the
  // next attempt waits.
  bool EndSelfDial(LinkId link, const kamino::internal::v1::Hello& hello,
                   absl::Time now);
  // The successor asks for the entry after those it has received, perhaps
  // again: this node's bytes may be damaged. False: it does not get the entry.
  bool CheckUnsent(const kamino::internal::v1::Sync& sync);
  // More entries are applied.
  void AfterApplied();
  // At the tail: applied entries are complete.
  void CompleteAsTail();
  void CleanTo(uint64_t sequence);
  void GoOnMended(Mending::Mended mended);
  void CheckCaughtUp();
  // Continues if the neighbours have confirmed this node's data.
  void CheckReturned();

  const ChainOptions options_;
  Place place_;
  TransferStats transfer_stats_;
  Outbox outbox_;
  const ChainContext context_;

  Upstream upstream_;
  Downstream downstream_;
  Completions completions_;
  Returning returning_;
  Announcements announcements_;
  Mending mending_;
  MendingSource mending_source_;
  RollForward roll_forward_;
  Dispute dispute_;
  Joiner joiner_;
  Donor donor_;
  CatchUpHistory history_;
  Scrub scrub_;
  DeadlyEntries deadly_;
  Execution execution_;
  Damage damage_;
  DisputedResult disputed_result_;
  Arbitration arbitration_;
  ScrubExchange scrub_exchange_;
  Debt append_debt_;
  Debt completion_debt_;
  LinkWatch link_watch_;
  Misfits misfits_;
  LogLimit told_misfits_;
  LogLimit told_refusals_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_CORE_H_
