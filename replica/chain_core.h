// The chain protocol of one node, without I/O (Kamino-Tx, section 5).
//
// Inputs are views, links and their messages, and ticks; what they cause comes
// out as Actions, to be carried out in order by the caller. No sockets,
// threads, clocks or randomness inside; the heap and the operation ring are
// called directly. A simulator drives the same class as a real node does.
//
// Who does what:
//   - a node appends what its predecessor sends to its ring, durably, before
//     it acknowledges; executes in place, in order; sends on;
//   - the tail completes to the head, then lets clean-ups travel upstream;
//   - the head's own part (admission, locks, outcomes) lies in head/, which
//     calls AppendLocal and CommitLocal and is told by Actions::completed;
//   - a node that was restarted takes part once its neighbours have borne out
//     that it holds what it must (Returning), and mends what it was in the
//     middle of, by what a neighbour holds (Mending; section 5.3);
//   - a node that joins gets the tail's heap, then its operations, and only
//     then a place in the chain (chain_joining.cc; section 5.2).
//
// Invariants:
//   1. received here >= received at the successor; what the successor lacks is
//      in this node's ring.
//   2. A message of another view changes nothing.
//   3. cleaned <= what the whole chain has applied.
//   4. That an operation is applied is durable before a later node hears of it
//      and before it is completed. So after a restart those not marked applied
//      are in flight: they share no object, and no later operation that touches
//      theirs was executed anywhere.
//   5. So applied here >= received at the successor and >= cleaned anywhere. A
//      node for which that does not hold is on an old copy of its data.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CHAIN_CORE_H_
#define KAMINO_REPLICA_CHAIN_CORE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/chain_actions.h"
#include "replica/chain_options.h"
#include "replica/executor.h"
#include "replica/mending.h"
#include "replica/node_record.h"
#include "replica/operation_ring.h"
#include "replica/outbox.h"
#include "replica/pacer.h"
#include "replica/returning.h"
#include "replica/state_copy.h"

namespace kamino::replica {

class ChainCore {
 public:
  // All pointers must outlive the core. `ring` and `record` are as a restart
  // found them: operations that are not marked applied are taken for torn.
  ChainCore(ChainOptions options, OperationRing* ring, NodeRecord* record,
            Executor* executor, StateCopy* copy);

  // --- Inputs. `now` is monotonic and never goes back.

  // Views not newer than view() are ignored. Installing one closes every link:
  // nothing of an older view gets through afterwards.
  void OnView(const membership::View& view, absl::Time now, Actions* actions);

  void OnLinkOpened(LinkId link, absl::Time now, Actions* actions);
  void OnLinkClosed(LinkId link, absl::Time now, Actions* actions);
  void OnMessage(LinkId link, const kamino::internal::v1::ChainMessage& message,
                 absl::Time now, Actions* actions);
  // At least every reconnect_delay.
  void OnTick(absl::Time now, Actions* actions);
  // Whether the manager wants this node, which is outside, to join.
  void OnInvited(bool invited, absl::Time now, Actions* actions);

  // Sends the acknowledgements that the inputs so far are owed. Called once
  // after each batch of inputs, so that one message stands for many.
  void EndOfBatch(absl::Time now, Actions* actions);

  // --- The head's part.

  // The number that the next mutation gets.
  uint64_t next_sequence() const { return ring_->received() + 1; }

  // Makes an operation of `count` mutations durable in the ring; the first of
  // them must be next_sequence(). The head has executed it and sets its commit
  // mark after this. Errors as OperationRing::Append; kInvalidArgument also
  // when it is larger than max_operation_bytes.
  absl::Status AppendLocal(uint64_t first, uint32_t count,
                           absl::string_view operation);

  // The commit mark of the operation that was appended last, whose last
  // mutation this is, is durable: it may go down the chain.
  void CommitLocal(uint64_t last, Actions* actions);

  // --- What is.

  const membership::View& view() const { return view_; }
  membership::Role role() const { return view_.RoleAt(index_); }
  bool is_head() const;
  bool is_tail() const;
  // It has a place in the chain and a heap that it may execute on.
  bool ready() const;
  // For the manager.
  membership::Condition condition() const;
  // The view whose tail sends this node, which is outside, every operation.
  uint64_t caught_up_view() const;
  uint64_t completed() const { return completed_; }
  // A mutation up to which the whole chain has applied everything, as far as
  // this node knows: whatever happens, the next one gets a number over it.
  uint64_t settled() const;
  struct TransferStats {
    bool sending = false;    // the heap to a node that joins
    bool receiving = false;  // the heap, as one that joins
    uint64_t bytes = 0;      // of this transfer so far, zeros included
    uint64_t begun = 0;      // transfers, as either side
    uint64_t damaged = 0;    // chunks that were turned down
  };
  const TransferStats& transfer() const { return transfer_; }
  using TurnedDown = replica::TurnedDown;
  const TurnedDown& turned_down() const { return outbox_.turned_down(); }
  const OperationRing& ring() const { return *ring_; }

  struct LinkState {
    std::string peer;
    std::string purpose;  // "predecessor", "successor", "completion", "joining"
    LinkId link;
    bool connected;
  };
  std::vector<LinkState> links() const;

 private:
  using Message = kamino::internal::v1::ChainMessage;

  // A link this node keeps open: to its successor, from tail to head, or from
  // one that joins to the tail.
  struct Outgoing {
    LinkId link = kNoLink;
    bool opened = false;  // the transport is connected
    bool ready = false;   // the peer has taken us: Sync came
    int failures = 0;     // in a row
    absl::Time retry_at = absl::InfiniteFuture();
    absl::Time give_up_at = absl::InfiniteFuture();
  };

  void Open(Outgoing* outgoing, const membership::Member& member,
            kamino::internal::v1::LinkPurpose purpose, absl::Time now);
  void CloseOutgoing(Outgoing* outgoing, absl::Time now);
  void TickOutgoing(Outgoing* outgoing, const membership::Member* member,
                    kamino::internal::v1::LinkPurpose purpose, absl::Time now);
  const membership::Member* CompletionTarget() const;
  const membership::Member* SuccessorTarget() const;

  void LeaveView(absl::Time now);
  void EnterView(absl::Time now);
  // Whether the heap holds a state of the chain, be it an old one.
  bool has_state() const;
  // False, with the answer in `actions`, when the message is of another view.
  bool CheckView(LinkId link, const Message& message);

  void UpdateHeapState(HeapState heap);
  void OnHello(LinkId link, const kamino::internal::v1::Hello& hello,
               absl::Time now);
  void OnHelloAppend(LinkId link, const kamino::internal::v1::Hello& hello,
                     absl::Time now);
  void CheckCaughtUp();
  void OnSync(LinkId link, const kamino::internal::v1::Sync& sync,
              absl::Time now);
  void ContinueSuccessor(const kamino::internal::v1::Sync& sync);
  void OnReject(LinkId link, const Message& message, absl::Time now);
  void OnAppend(LinkId link, const kamino::internal::v1::Append& append);
  void OnAppendAck(LinkId link, uint64_t received);
  void OnCompletion(LinkId link, uint64_t applied);
  void OnCleanUp(LinkId link, uint64_t cleaned);
  std::string RefuseHello(LinkId link,
                          const kamino::internal::v1::Hello& hello) const;

  void ExecuteReceived();
  // Something is applied that was not before.
  void AfterApplied();
  // The last of the chain: what is applied is complete.
  void CompleteAsTail();
  void CleanTo(uint64_t sequence);
  void CompleteTo(uint64_t sequence);
  // The successor holds everything up to `sequence`, and nothing is on its way.
  void ContinueAfter(uint64_t sequence);
  void PumpSuccessor();
  void SendSync(LinkId link);
  void Acknowledge();

  // --- Returning and mending.

  // Goes on if the neighbours have borne out what this node holds.
  void CheckReturned();
  void OnFetch(LinkId link, const kamino::internal::v1::Fetch& fetch);
  void GoOnMended(Mending::Mended mended);

  // --- Joining, at the tail.

  std::string RefuseJoining(const kamino::internal::v1::Hello& hello) const;
  void OnHelloTransfer(LinkId link, const kamino::internal::v1::Hello& hello);
  void SendOperationsAfter(uint64_t sequence);
  void SendChunks(absl::Time now);
  bool SendChunk();  // false: none is left
  void SendCut();
  void StopSending();
  // Its link is gone.
  void LoseJoining(absl::Time now);
  // Nobody who joins needs what is in the ring any more.
  void ForgetJoining();

  // --- Joining, at the node that does.

  const membership::Member* JoiningTarget() const;
  void OnTransferMessage(const Message& message, absl::Time now);
  absl::Status OnStateBegin(const kamino::internal::v1::StateBegin& begin);
  absl::Status OnStateCut(const kamino::internal::v1::StateCut& cut);
  // What this node holds is of no use: it has to get the chain's state anew.
  void DiscardState();

  const ChainOptions options_;
  OperationRing* const ring_;
  NodeRecord* const record_;
  Executor* const executor_;
  StateCopy* const copy_;

  Outbox outbox_;
  Mending mending_;
  MendingSource mending_source_;
  Returning returning_;

  membership::View view_;
  int index_ = -1;

  Outgoing successor_;
  Outgoing completion_;               // tail only: to the head
  Outgoing donor_;                    // outside only: to the tail, to join
  LinkId predecessor_ = kNoLink;      // accepted, after its Hello
  LinkId completion_from_ = kNoLink;  // head only: from the tail

  // Towards the successor, which at a tail is the node that joins, if any.
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  uint64_t sent_bytes_ = 0;  // of (acked_, sent_]
  uint64_t sent_operations_ = 0;

  uint64_t completed_ = 0;

  // Owed at EndOfBatch.
  bool owe_ack_ = false;
  bool owe_completion_ = false;
  bool owe_clean_up_ = false;
  bool owe_sync_ = false;

  // A heap that is behind is complete when this is applied.
  std::optional<uint64_t> catch_up_to_;

  // Joining, at the tail: who it is. Its link is successor_'s; it is sent the
  // heap until successor_.ready, then operations.
  std::string joining_node_;
  uint64_t chunks_sent_ = 0;
  uint64_t chunks_acked_ = 0;
  uint64_t data_bytes_sent_ = 0;  // in chunks, zeros left out
  Pacer chunk_pacer_;
  // The ring is kept for it though it is not there, until then.
  std::optional<absl::Time> retain_until_;
  // At the node that joins.
  bool invited_ = false;
  bool attached_ = false;  // it gets operations over donor_
  // What the tail had applied then; before that, when it began.
  uint64_t attached_at_ = 0;
  uint64_t chunks_taken_ = 0;
  bool owe_chunk_ack_ = false;
  TransferStats transfer_;

  // From the predecessor.
  bool ring_was_full_ = false;    // an append was turned away for lack of room
  bool awaiting_resend_ = false;  // appends behind a gap are not news
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_CORE_H_
