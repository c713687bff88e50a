// The tail's side of a join (Kamino-Tx, section 5.2). It sends the joining node
// the heap while the chain serves, then a cut, then every log entry, as to a
// successor. Once the node keeps up, the manager appends it to the chain.
//
// Until then the tail and every node before it keep the entries that the node
// lacks in their rings, but at most half of the ring, and not forever: after
// that the node must begin again.
//
// Clients may write faster than the heap is sent. After a few passes over the
// changed pages they are slowed down (replica/repair/brake.h): then the rest
// shrinks by at least half of what is sent, and the transfer ends whatever they
// write. The same applies while the joining node takes entries more slowly.
//
//   state      input                    next       effects
//   kIdle      Begin                    kCopying   StateBegin
//              Begin, it can go on      kFollowed  StateBegin, log entries
//              Begin, it can catch up   kCopying   StateBegin; what changed is
//                                                  sent as the heap is, and
//                                                  once OnWanted
//              KeepsRing                kIdle      while it is retained
//   kCopying   OnWanted                 kCopying   those pages are sent too
//              Continue                 kCopying   chunks, as paced and as the
//                                                  window allows; from the
//                                                  fourth pass on holds
//                                                  completions
//              Continue, little left    kFollowed  the last chunks of a cut,
//                                                  log entries
//              OnChunkAck               kCopying
//              OnClosed, Leave          kIdle
//   kFollowed  OnClosed, Leave          kIdle      the ring is retained a while
//              Continue                 kFollowed  holds completions while a
//                                                  quarter of the ring is full
//   any        Begin                    as above, anew; the node that joined
//                                       before gives way
//              Forget                   kIdle      closes the link; nothing is
//                                                  retained
//              KeepsRing, the ring is   kIdle      as Forget
//              half full, or three
//              quarters full while the
//              tail holds completions
//
// Its state follows Downstream's: kSnapshot is kCopying, kFollow is kFollowed.
//
// Invariants:
//   1. At most one node joins. It keeps others out only while it makes progress
//      without long pauses: its link may be well although it is stopped or cut
//      off from the manager.
//   2. The ring holds what a node that follows, or did a moment ago, lacks.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_DONOR_H_
#define KAMINO_REPLICA_REPAIR_DONOR_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/downstream.h"
#include "replica/link/outbox.h"
#include "replica/log/log_ring.h"
#include "replica/repair/catch_up_history.h"
#include "replica/repair/heap_sending.h"
#include "replica/repair/held_completions.h"
#include "replica/repair/joining_pace.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

class Donor {
 public:
  enum class State {
    kIdle,      // no node joins
    kCopying,   // sends the heap to a node
    kFollowed,  // the node has it, and receives log entries
  };

  // All pointers must outlive it.
  Donor(const ChainContext& chain, Downstream* downstream);

  State state() const;
  // The joining node; "" for kIdle.
  const std::string& joining() const { return joining_; }
  // Whether log entries are kept for a node that was joining and is gone.
  bool retains() const { return retain_until_.has_value(); }

  // Why the node cannot join now; "" if it can, also once more, in the same
  // incarnation or a later one. `may_give`: this node is the tail, and its data
  // is sound.
  std::string Refuse(const kamino::internal::v1::Hello& hello,
                     const membership::View& view, bool may_give,
                     absl::Time now) const;
  // Begins the join that Refuse allowed. `confirmed`: StateBegin.borne_out.
  void Begin(LinkId link, const kamino::internal::v1::Hello& hello,
             const CatchUpHistory::Plan& plan, bool confirmed, absl::Time now);
  // False: the node could not ask for that.
  bool OnWanted(const kamino::internal::v1::StateWanted& wanted);
  void OnChunkAck(uint64_t chunks) { sending_.OnChunkAck(chunks); }
  // Sends what the pace and the window allow.
  void Continue(absl::Time now);

  // Whether completed log entries stay in the ring.
  bool KeepsRing();
  // How far the chain may complete: everything applied, or less while writes
  // are slowed down.
  uint64_t MayComplete() { return held_.MayComplete(); }
  // The last result of MayComplete if it was less than everything applied.
  std::optional<uint64_t> held_at() const { return held_.held_at(); }
  // True when entries have just stayed in the ring for long enough, or held
  // entries may be completed.
  bool OnTick(absl::Time now);
  // No joining node needs the ring's entries any more.
  void Forget();
  // The same, and the entry that begins with this mutation cannot be sent any
  // more: a joining node that lacks it receives the heap.
  void ForgetUnreadable(uint64_t first);
  // The same before a node has asked for it.
  void NoteUnreadable(uint64_t first) {
    unreadable_ = std::max(unreadable_, first);
  }
  // As Forget, if a node joins or entries are retained: the heap is no state of
  // the chain any more, and must not be sent.
  void Stop();

  // True when it was the link to the node that joins.
  bool OnClosed(LinkId link, absl::Time now);
  // The view has ended.
  void Leave(absl::Time now);
  // This node is not the tail: another one retains entries.
  void EndRetaining() { retain_until_.reset(); }

 private:
  void SendEntriesAfter(uint64_t sequence);
  // The link is gone, or will be.
  void Lose(absl::Time now);
  // Whether writes must wait for the joining node.
  bool IsBehind(absl::Time now) const;
  // The joining node's progress toward membership.
  uint64_t Progress() const;

  const ChainOptions& options_;
  const LogRing* const ring_;
  Downstream* const downstream_;
  Outbox* const outbox_;
  TransferStats* const stats_;

  HeapSending sending_;
  JoiningPace pace_;
  HeldCompletions held_;
  std::string joining_;
  uint64_t joining_incarnation_ = 0;  // of that node; 0: unknown
  // While a node joins: the position applied here when entries began to follow.
  uint64_t target_ = 0;
  // A mutation that cannot be sent any more; no node resumes before it.
  uint64_t unreadable_ = 0;
  bool told_ = false;  // the log says that writes do not wait for it
  // Until then the ring is kept for a node that is gone.
  std::optional<absl::Time> retain_until_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_DONOR_H_
