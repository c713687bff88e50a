// The chain protocol of one node, without I/O (Kamino-Tx, section 5).
//
// Inputs are views, links, their messages, and ticks; the results are Actions,
// which the caller carries out in order. The core has no sockets, threads,
// clocks or randomness; it calls the heap and the log ring directly. A
// simulator drives the same class as a real node.
//
// The parts, in the groups in which they are held:
//   - LinkParts, the links to other nodes:
//       - Upstream: a node appends its predecessor's entries to its ring,
//         durably, before it acknowledges;
//       - Downstream: executed entries are sent on, in order;
//       - Completions: the tail completes to the head; clean-ups travel
//         upstream;
//       - Announcements: a head's announcements to its successor before it
//         executes;
//       - Joiner, and Donor at the tail: a joining node receives the tail's
//         heap, then its log entries, and only then a place in the chain
//         (section 5.2).
//   - DataParts, the state of this node's data:
//       - Soundness: what the node may do with it;
//       - Returning: a restarted node takes part once its neighbours have
//         confirmed that it holds what it must;
//       - NeighbourRepair: torn entries are repaired from a neighbour's
//         data (section 5.3);
//       - QuarantinedEntries: entries that may have crashed a node;
//       - Divergence: an entry's result here differs from the head's.
//         Arbitration asks and answers which node is right;
//         DivergentResult handles this node's result;
//       - Scrub, and ScrubExchange over the links: members compare their data
//         in the background;
//       - Damage: this node's data is unusable.
//   - LogParts, through which a log entry goes:
//       - ChainExecution: received entries are executed, in place, in order;
//       - EntryRepair: other entries are repaired first;
//       - ChainProgress: what is applied is completed, then cleaned;
//       - CatchUpHistory: what nodes that left the chain will lack when they
//         return.
//   - ViewChange: the node's place in each view.
//   - ChainMessages: the part that handles a message. HelloExchange accepts
//     links, SuccessorMessages has the successor's messages, StateReplacement
//     those that replace the heap.
//   - LinkTable: the links by their peers.
// ChainCore owns them, and decides the order in which they act on a tick, at
// the end of a batch, and for the head.
//
// The table MessageRules says which message may arrive on which link. A message
// that may not, or that contradicts what its sender can know, ends the link and
// never the node. The node accepts links from a peer that keeps sending such
// messages only after growing pauses (RejectedPeers). The head's own part
// (admission, locks, outcomes) is in head/, which calls AppendLocal and
// CommitLocal and learns of completion by Actions::completed.
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
#ifndef KAMINO_REPLICA_CORE_CHAIN_CORE_H_
#define KAMINO_REPLICA_CORE_CHAIN_CORE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "engine/transaction.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/core/chain_messages.h"
#include "replica/core/chain_parts.h"
#include "replica/core/chain_progress.h"
#include "replica/core/link_table.h"
#include "replica/core/log_parts.h"
#include "replica/core/view_change.h"
#include "replica/integrity/scrub.h"
#include "replica/integrity/soundness.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/log/request_identity.h"
#include "replica/state/executor.h"
#include "replica/state/scrubbed_heap.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

// A node's log, record and heap. `ring` and `record` are as a restart found
// them: log entries that are not marked applied count as torn. If `scrubbed` is
// null, the node takes no part in scrubs.
struct ChainStorage {
  LogRing* ring;
  NodeRecord* record;
  Executor* executor;
  StateCopy* copy;
  ScrubbedHeap* scrubbed = nullptr;
};

class ChainCore {
 public:
  // All pointers in `storage` must outlive the core.
  ChainCore(ChainOptions options, const ChainStorage& storage);

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
  void OnStoodStill(absl::Duration time, absl::Duration failure_timeout) {
    log_.progress.OnStoodStill(time, failure_timeout);
  }
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
  // next_sequence(). The head has executed them and sets the commit record
  // after this. Errors as LogRing::Append; kInvalidArgument also when the entry
  // is larger than max_entry_bytes.
  absl::Status AppendLocal(absl::Span<const Mutation* const> mutations,
                           const engine::WriteSet& write_set,
                           const engine::AfterImage& image = {});

  // The commit record of the last appended entry is durable: the entry may go
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
  // As Announcements.
  std::optional<RequestIdentity> TakeQuarantined() {
    return links_.announcements.TakeQuarantined();
  }

  // --- State.

  const Place& place() const { return place_; }
  const membership::View& view() const { return place_.view; }
  const LogRing& ring() const { return *context_.ring; }
  const Soundness& soundness() const { return data_.soundness; }
  const Scrub& scrub() const { return data_.scrub; }
  const ChainProgress& progress() const { return log_.progress; }
  const LinkParts& links() const { return links_; }
  const LinkTable& link_table() const { return link_table_; }
  TransferStats transfer() const;
  const TurnedDown& turned_down() const { return outbox_.turned_down(); }

 private:
  const ChainOptions options_;
  Place place_;
  TransferStats transfer_stats_;
  Outbox outbox_;
  const ChainContext context_;
  LinkParts links_;
  DataParts data_;
  LogParts log_;
  LinkTable link_table_;
  ViewChange views_;
  ChainMessages messages_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_CORE_CHAIN_CORE_H_
