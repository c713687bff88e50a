// The chain protocol of one node, without I/O (Kamino-Tx, section 5).
//
// Inputs are views, links and their messages, and ticks; what they cause comes
// out as Actions, to be carried out in order by the caller. No sockets,
// threads, clocks or randomness inside; the heap and the log ring are
// called directly. A simulator drives the same class as a real node does.
//
// This class only decides who of these hears of an input, and in which order:
//   - Upstream: a node appends what its predecessor sends to its ring, durably,
//     before it acknowledges;
//   - Downstream: what is executed, in place, in order, is sent on;
//   - Completions: the tail completes to the head; clean-ups travel upstream;
//   - Returning: a node that was restarted takes part once its neighbours have
//     borne out that it holds what it must;
//   - Mending: it mends what it was in the middle of, by what a neighbour holds
//     (section 5.3), or RollForward, by what the entries carry;
//   - Announcements: what a head is about to execute, told to its successor;
//   - Execution: what is received is executed, in place, in order;
//   - DeadlyEntries: those that a node may have died of;
//   - Dispute: an entry that comes to something else here than at the head;
//     Arbitration asks and answers who is right, DisputedResult is what this
//     node has made of it;
//   - Scrub, and ScrubExchange over the links: members compare what they hold,
//     in the background;
//   - Damage: what this node holds is of no use;
//   - Joiner, and Donor at the tail: a node that joins gets the tail's heap,
//     then its log entries, and only then a place in the chain (section 5.2);
//   - CatchUpHistory: what members that left will lack when they come back;
//   - Outbox: what they have to say.
// Which message may come by which link says one table, MessageRules. What may
// not, or is at odds with what its sender can know, ends the link and never the
// node; a peer that goes on so is met again after growing pauses (Misfits).
// The head's own part (admission, locks, outcomes) lies in head/, which calls
// AppendLocal and CommitLocal and is told by Actions::completed.
//
// Invariants:
//   1. received here >= received at the successor; what the successor lacks is
//      in this node's ring.
//   2. A message of another view changes nothing.
//   3. cleaned <= what the whole chain has applied.
//   4. That an entry is applied is durable before a later node hears of it
//      and before it is completed. So after a restart those not marked applied
//      are in flight: they share no object, and no later entry that touches
//      theirs was executed anywhere. (Where dependent entries are pipelined, by
//      base/chain_mode.h, they may, and one may have been executed before.)
//   5. So applied here >= received at the successor and >= cleaned anywhere. A
//      node for which that does not hold is on an old copy of its data.
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
  // found them: log entries that are not marked applied are taken for torn.
  // `scrubbed` may be null: then nothing is compared with other nodes.
  ChainCore(ChainOptions options, LogRing* ring, NodeRecord* record,
            Executor* executor, StateCopy* copy,
            ScrubbedHeap* scrubbed = nullptr);

  // --- Inputs. `now` is monotonic and never goes back.

  // Views not newer than view() are ignored. Installing one closes every link:
  // nothing of an older view gets through afterwards.
  void OnView(const membership::View& view, absl::Time now, Actions* actions);

  void OnLinkOpened(LinkId link, absl::Time now, Actions* actions);
  void OnLinkClosed(LinkId link, absl::Time now, Actions* actions);
  // `payload`: what came behind the message; of an Append alone.
  void OnMessage(LinkId link, const kamino::internal::v1::ChainMessage& message,
                 absl::string_view payload, absl::Time now, Actions* actions);
  // At least every reconnect_delay.
  void OnTick(absl::Time now, Actions* actions);
  // The node's core spent so long within one step, and handled no input
  // meanwhile: its neighbours' answers may be late by that. At most
  // `failure_timeout` of it is taken off one wait.
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout);
  // Whether the manager wants this node, which is outside, to join.
  void OnInvited(bool invited, absl::Time now, Actions* actions);

  // Sends the log entries and acknowledgements that the inputs so far are owed.
  // Called once after each batch of inputs, so that one message stands for
  // many. Actions are carried out before the next input: what is sent lies in
  // the ring.
  void EndOfBatch(absl::Time now, Actions* actions);

  // --- The head's part.

  // The number that the next mutation gets.
  uint64_t next_sequence() const { return ring_->received() + 1; }

  // Makes an entry of these mutations durable in the ring, of which the first
  // is next_sequence(). The head has executed them and sets the commit mark
  // after this. Errors as LogRing::Append; kInvalidArgument also when it
  // is larger than max_entry_bytes.
  absl::Status AppendLocal(absl::Span<const Mutation* const> mutations,
                           const engine::WriteSet& write_set,
                           const engine::AfterImage& image = {});

  // The commit mark of the entry that was appended last is durable: it may go
  // down the chain. Drains all regions of the node.
  void CommitLocal(Actions* actions);

  // This node came by an object that cannot be read, as `found` says: it
  // discards what it holds and ends, if a neighbour has everything. False: it
  // is to go on as it is, and to ask again when it comes by that again.
  bool LeaveAsDamaged(const absl::Status& found, Actions* actions);

  // Whether `request` may be executed by a head on probation: its successor
  // knows of it. If not, that is told, and this is to be called again after
  // further inputs. Another request takes the place of the last one.
  bool Announce(const RequestIdentity& request, Actions* actions);
  // What was announced last has not ended this process.
  void EndAnnouncement(Actions* actions);
  // Nothing is announced that the successor could still remember.
  bool announces_nothing() const { return announcements_.over(); }
  // What a head before this one, or this one before its restart, may have died
  // of. Each is told once, and again whenever it is heard of again.
  std::optional<RequestIdentity> TakeBlamed() {
    return announcements_.TakeBlamed();
  }

  // --- What is.

  const membership::View& view() const { return place_.view; }
  membership::Role role() const { return place_.role(); }
  bool is_head() const { return place_.is_head(); }
  bool is_tail() const { return place_.is_tail(); }
  // It has a place in the chain and a heap that it may execute on.
  bool ready() const;
  // Nothing is known against what it holds. A head for which that does not hold
  // takes no more requests.
  bool beyond_doubt() const {
    return !damage_.condemned() && !scrub_.in_doubt();
  }
  // No operation is half executed on its heap, nor is it being received.
  bool heap_whole() const { return has_state() && !half_executed(); }
  // For the manager.
  membership::Condition condition() const;
  // The first mutation of an entry that came to something else here than at the
  // head, while it is not decided who erred; 0: there is none.
  uint64_t disputed() const { return record_->state().disputed; }
  // The view whose tail sends this node, which is outside, every log entry.
  uint64_t caught_up_view() const;
  uint64_t completed() const { return completions_.completed(); }
  // A mutation up to which the whole chain has applied everything, as far as
  // this node knows: whatever happens, the next one gets a number over it.
  uint64_t settled() const;
  // For how long, at the last tick, the successor had acknowledged nothing of
  // what it was sent; and the chain completed nothing of what its head has
  // applied.
  absl::Duration append_debt() const { return append_debt_.age(); }
  absl::Duration completion_debt() const { return completion_debt_.age(); }
  // For how long, at the last tick, this view was here and its links had never
  // been up together. Zero: they were, or it has none.
  absl::Duration never_linked() const { return link_watch_.never_up(); }
  TransferStats transfer() const;
  const Scrub& scrub() const { return scrub_; }
  // Log entries, by their last mutations, that the successor, or the node that
  // joins, was sent and has acknowledged; both go back with a new link. False:
  // there is nobody.
  bool replicates() const { return downstream_.replicates(); }
  uint64_t sent() const { return downstream_.sent(); }
  uint64_t acknowledged() const { return downstream_.acked(); }
  const TurnedDown& turned_down() const { return outbox_.turned_down(); }
  const LogRing& ring() const { return *ring_; }

  struct LinkState {
    std::string peer;
    kamino::v1::LinkRole role;
    LinkId link;
    bool connected;
  };
  std::vector<LinkState> links() const;
  // What a part of the core has that link for now.
  LinkUse UseOf(LinkId link) const;
  bool Uses(LinkId link) const { return UseOf(link) != LinkUse::kNone; }

 private:
  using Message = kamino::internal::v1::ChainMessage;

  // --- Views.

  // Where the view has this process and what its heap holds; -1: nowhere.
  int PlaceIn(const membership::View& view) const;
  void LeaveView(absl::Time now);
  void EnterView(absl::Time now);
  // Whether the heap holds a state of the chain, be it an old one.
  bool has_state() const;
  bool behind() const;
  // What the heap holds is between two states: of interrupted entries, or of a
  // disputed one that was not executed to its end.
  bool half_executed() const;
  // Log entries of the chain can follow on what this node has, though it has no
  // place.
  bool may_resume() const {
    return behind() && !mending_.torn() &&
           record_->state().epoch == place_.view.epoch;
  }
  // What this node holds, which has no place, is what the chain made of it up
  // to some mutation, but for what its ring names.
  bool may_catch_up() const;
  // What the heap holds, or receives from here on, is of this view's cluster
  // and epoch.
  void TakeOrigin(NodeState* state) const;
  // The heap begins to receive another state: says what is given up, if that is
  // of an epoch that is over.
  void OnHeapVoid();
  void Record(membership::Condition condition);
  // What this node holds is of no use: it has to get the chain's state anew.
  void DiscardState();

  // --- Messages.

  // False, with the answer given, when the message is of another view.
  bool CheckView(LinkId link, const Message& message);
  void TakeMessage(LinkId link, const Message& message,
                   absl::string_view payload, absl::Time now);
  // Ends links by which came what may not come by them.
  void EndMisfits(absl::Time now);
  // Of a link that has a use.
  std::string PeerOf(LinkId link) const;
  // A link is gone, or will be.
  void Lose(LinkId link, absl::Time now);
  // Why no link is taken up by this Hello; "" if it is.
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

  // --- What follows.

  void SendSync(LinkId link);
  void ExecuteReceived();
  // Begins the dispute; at a head, which has none before it, also ends it.
  void OnDissent(const Execution::Dissent& dissent);
  // At a head: its own result counts, and goes on from there. (EnterView does
  // not go on, as it executes what follows.)
  void KeepOwnResult();
  // Does what an open dispute calls for.
  void ContinueDispute(absl::Time now);
  // A node may have died of entries (after, last].
  void NoteDeadly(uint64_t after, uint64_t last);
  // Nobody has died of mutations up to here: all have applied them.
  uint64_t KnownComplete() const;
  void AdoptDeadly(absl::Time now);
  // A view takes the place of this one: what the successor was sent may have
  // ended it.
  void NoteOnTheWay(const membership::View& next);
  void DropInterrupted();
  // The same by what the entries carry.
  void AdoptImages();
  // Brings what is not applied, up to there, to its end by what the entries
  // carry, and marks it applied, durably; a failure stops the node.
  void ApplyImages(uint64_t last, bool interrupted);
  // The successor holds what was before the entry that is half executed here.
  bool MayTakeBack() const;
  // What was to be adopted is complete, and is executed as any.
  void ExecuteAdopted();
  void ForgetInterrupted();  // the heap is void
  // Its heap is what the operations applied so far have made of it, and nothing
  // is known against it.
  bool may_compare() const;
  // A node that joins asks to go on: it is not sent what cannot be read.
  void CheckResumed(const kamino::internal::v1::Hello& hello);
  void NoteLinks(absl::Time now);
  // The member that a link of that purpose is being opened to; null: there is
  // no such link, or it is established.
  const membership::Member* Dials(
      kamino::internal::v1::LinkPurpose purpose) const;
  // True when this process has sent the Hello itself: its link has ended, and
  // the next attempt waits.
  bool EndSelfDial(LinkId link, const kamino::internal::v1::Hello& hello,
                   absl::Time now);
  // The successor asks for the entry after what it has received, perhaps again:
  // it may be this node's bytes that are damaged. False: it does not get it.
  bool CheckUnsent(const kamino::internal::v1::Sync& sync);
  // Something is applied that was not before.
  void AfterApplied();
  // The last of the chain: what is applied is complete.
  void CompleteAsTail();
  void CleanTo(uint64_t sequence);
  void GoOnMended(Mending::Mended mended);
  void CheckCaughtUp();
  // Goes on if the neighbours have borne out what this node holds.
  void CheckReturned();

  const ChainOptions options_;
  LogRing* const ring_;
  NodeRecord* const record_;
  Executor* const executor_;
  StateCopy* const copy_;

  Place place_;
  TransferStats transfer_stats_;

  Outbox outbox_;
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
