// The chain protocol of one node, without I/O (Kamino-Tx, sections 5.1, 5.2).
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
//     calls AppendLocal and CommitLocal and is told by Actions::completed.
//
// Invariants:
//   1. received here >= received at the successor; what the successor lacks is
//      in this node's ring.
//   2. A message of another view changes nothing.
//   3. cleaned <= what the whole chain has applied.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_CHAIN_CORE_H_
#define KAMINO_REPLICA_CHAIN_CORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/executor.h"
#include "replica/operation_ring.h"

namespace kamino::replica {

// Names a link between this node and another. Chosen by the core for links it
// opens (odd numbers), by the caller for links it accepted (even numbers).
using LinkId = uint64_t;
inline constexpr LinkId kNoLink = 0;

struct Actions {
  struct Open {
    LinkId link;
    membership::Member member;
    kamino::internal::v1::LinkPurpose purpose;
  };
  struct Send {
    LinkId link;
    kamino::internal::v1::ChainMessage message;
  };

  std::vector<LinkId> close;  // carried out first
  std::vector<Open> open;     // then these; the answer is OnLinkOpened/Closed
  std::vector<Send> send;     // then these
  bool fetch_view = false;    // someone has a newer view
  // At the head: everything up to here is applied by the whole chain.
  uint64_t completed = 0;
  // Not OK: this node must stop; going on would make it differ from others.
  absl::Status fatal;
};

struct ChainOptions {
  std::string cluster_id;
  std::string node_id;
  uint64_t incarnation = 0;
  uint64_t heap_bytes = 0;
  // Appends that may be on their way to the successor, unacknowledged.
  uint64_t window_operations = 1024;
  uint64_t window_bytes = 16u << 20;
  // Between two attempts to reach a neighbour.
  absl::Duration reconnect_delay = absl::Milliseconds(20);
  // A neighbour that does not answer Hello by then is tried anew.
  absl::Duration hello_timeout = absl::Seconds(1);
};

class ChainCore {
 public:
  // All pointers must outlive the core.
  ChainCore(ChainOptions options, OperationRing* ring, Executor* executor);

  // --- Inputs. `now` is monotonic and never goes back.

  // Views not newer than view() are ignored. Installing one closes every link:
  // nothing of an older view gets through afterwards.
  void OnView(const membership::View& view, absl::Time now, Actions* actions);

  void OnLinkAccepted(LinkId link, absl::Time now);
  void OnLinkOpened(LinkId link, absl::Time now, Actions* actions);
  void OnLinkClosed(LinkId link, absl::Time now, Actions* actions);
  void OnMessage(LinkId link, const kamino::internal::v1::ChainMessage& message,
                 absl::Time now, Actions* actions);
  // At least every reconnect_delay.
  void OnTick(absl::Time now, Actions* actions);

  // Sends the acknowledgements that the inputs so far are owed. Called once
  // after each batch of inputs, so that one message stands for many.
  void EndOfBatch(Actions* actions);

  // --- The head's part.

  // The number that the next operation gets.
  uint64_t next_sequence() const { return ring_->received() + 1; }

  // Makes the operation durable in the ring; it must be next_sequence(). The
  // head has executed it and sets its commit mark after this. Errors as
  // OperationRing::Append.
  absl::Status AppendLocal(uint64_t sequence, absl::string_view operation);

  // The commit mark is durable: the operation may go down the chain.
  void CommitLocal(uint64_t sequence, Actions* actions);

  // --- What is.

  const membership::View& view() const { return view_; }
  membership::Role role() const { return view_.RoleAt(index_); }
  bool is_head() const;
  bool is_tail() const;
  uint64_t completed() const { return completed_; }
  const OperationRing& ring() const { return *ring_; }

  struct LinkState {
    std::string peer;
    std::string purpose;  // "predecessor", "successor", "completion"
    LinkId link;
    bool connected;
  };
  std::vector<LinkState> links() const;

 private:
  using Message = kamino::internal::v1::ChainMessage;

  // A link this node keeps open: to its successor, or from tail to head.
  struct Outgoing {
    LinkId link = kNoLink;
    bool opened = false;  // the transport is connected
    bool ready = false;   // the peer has taken us: Sync came
    absl::Time retry_at = absl::InfiniteFuture();
    absl::Time give_up_at = absl::InfiniteFuture();
  };

  void Open(Outgoing* outgoing, const membership::Member& member,
            kamino::internal::v1::LinkPurpose purpose, absl::Time now,
            Actions* actions);
  void CloseOutgoing(Outgoing* outgoing, absl::Time now, Actions* actions);
  void TickOutgoing(Outgoing* outgoing, const membership::Member* member,
                    kamino::internal::v1::LinkPurpose purpose, absl::Time now,
                    Actions* actions);
  const membership::Member* CompletionTarget() const;

  Message NewMessage() const;
  void Send(LinkId link, Message message, Actions* actions) const;
  // False, with the answer in `actions`, when the message is of another view.
  bool CheckView(LinkId link, const Message& message, Actions* actions);

  void OnHello(LinkId link, const kamino::internal::v1::Hello& hello,
               Actions* actions);
  void OnSync(LinkId link, const kamino::internal::v1::Sync& sync,
              Actions* actions);
  void OnReject(LinkId link, const Message& message, absl::Time now,
                Actions* actions);
  void OnAppend(LinkId link, const kamino::internal::v1::Append& append,
                Actions* actions);
  void OnAppendAck(LinkId link, uint64_t received, Actions* actions);
  void OnCompletion(LinkId link, uint64_t applied, Actions* actions);
  void OnCleanUp(LinkId link, uint64_t cleaned, Actions* actions);
  std::string RefuseHello(const kamino::internal::v1::Hello& hello) const;

  void ExecuteReceived(Actions* actions);
  void CleanTo(uint64_t sequence, Actions* actions);
  void CompleteTo(uint64_t sequence, Actions* actions);
  void PumpSuccessor(Actions* actions);
  void SendSync(Actions* actions);
  void Fatal(absl::Status status, Actions* actions);

  const ChainOptions options_;
  OperationRing* const ring_;
  Executor* const executor_;

  membership::View view_;
  int index_ = -1;
  LinkId next_link_ = 1;  // odd ones

  Outgoing successor_;
  Outgoing completion_;               // tail only: to the head
  LinkId predecessor_ = kNoLink;      // accepted, after its Hello
  LinkId completion_from_ = kNoLink;  // head only: from the tail

  // Towards the successor.
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  uint64_t sent_bytes_ = 0;  // of (acked_, sent_]

  uint64_t completed_ = 0;
  bool failed_ = false;

  // Owed at EndOfBatch.
  bool owe_ack_ = false;
  bool owe_completion_ = false;
  bool owe_clean_up_ = false;
  bool owe_sync_ = false;

  // From the predecessor.
  bool ring_was_full_ = false;    // an append was turned away for lack of room
  bool awaiting_resend_ = false;  // appends behind a gap are not news
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CHAIN_CORE_H_
