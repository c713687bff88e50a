// The joining node's side (Kamino-Tx, section 5.2): outside the chain it
// receives the tail's heap, then its log entries, and only then a place in the
// chain. There it is behind until it holds what its predecessor had when they
// met.
//
//   state        input                      next         effects
//   kOff         Aim                        kAsking      dials the tail, if
//                                                        invited
//                CatchUpTo                  kCatchingUp
//   kAsking      OnInvited, OnTick          kAsking      dials the tail
//                OnOpened                   kAsking      Hello is due
//                StateBegin, to go on       kFollowing   log entries come
//                StateBegin, anew           kReceiving   the heap is void
//                StateBegin, of changes     kReceiving   the same; says which
//                                                        pages it needs besides
//                StateBegin, of changes     kAsking      breaks off; asks for
//                that this node cannot use               the heap from then on
//                a chunk                    kAsking      breaks off
//   kReceiving   a chunk                    kReceiving   takes it; owes an
//                                                        acknowledgement
//                the snapshot's end, which  kFollowing   has the heap;
//                fits                                    log entries come
//                one that does not, a       kAsking      breaks off
//                damaged chunk, StateBegin
//   kFollowing   any of the transfer's      kAsking      breaks off
//   these three  OnClosed, OnRejected       kAsking      dials it anew, later
//   kCatchingUp  OnApplied, so far          kOff         holds everything
//                CatchUpTo                  kCatchingUp
//   any          Leave                      kOff         closes the link
// Breaks off: closes the link and dials the tail anew, later.
//
// Invariants:
//   1. Upstream is attached to the tail exactly while kFollowing.
//   2. From the moment that the heap is void until the snapshot has ended it
//      does not count, durably; on a disk, until the node's record is updated
//      after that. Everything stored meanwhile was checked before.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_JOINER_H_
#define KAMINO_REPLICA_REPAIR_JOINER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/dialer.h"
#include "replica/link/outbox.h"
#include "replica/link/upstream.h"
#include "replica/log/log_ring.h"
#include "replica/log/node_record.h"
#include "replica/state/state_copy.h"

namespace kamino::replica {

class Joiner {
 public:
  enum class State {
    kOff,         // in the chain, or there is none to join
    kAsking,      // for the tail's state, when invited
    kReceiving,   // the heap, as chunks of a snapshot
    kFollowing,   // has the heap and gets log entries
    kCatchingUp,  // has a place in the chain, and lacks what came before
  };

  // All pointers must outlive it.
  Joiner(const ChainContext& chain, Upstream* upstream);

  State state() const { return state_; }
  LinkId link() const { return dialer_.link(); }
  bool Has(LinkId link) const { return dialer_.Has(link); }
  bool established() const { return dialer_.established(); }
  bool follows() const { return state_ == State::kFollowing; }
  // It receives every log entry and lacks none.
  bool keeps_up() const;

  // --- Outside.

  // A view begins, and this node is not a member.
  void Aim(const membership::View& view, absl::Time now);
  void Leave();
  void OnInvited(bool invited, absl::Time now);
  // `may_resume`: this node's data is a state of the chain that entries can
  // follow. True when a Hello is due, which is filled in. `member`: the state
  // that describes this node's heap, if it could catch up from that; or null.
  bool OnOpened(LinkId link, absl::Time now, bool may_resume,
                const NodeState* member, kamino::internal::v1::Hello* hello);
  void OnClosed(LinkId link, absl::Time now);
  void OnRejected(LinkId link, absl::Time now);
  void OnTick(absl::Time now);
  void Delay(absl::Time until) { dialer_.Delay(until); }

  enum class Effect {
    kNone,
    kHeapVoid,  // data held here, or to be repaired, is of no use any more
    kHasHeap,   // of the chain after the ring's last entry
  };
  // A message of the transfer, on its link.
  Effect OnMessage(const kamino::internal::v1::ChainMessage& message,
                   bool may_resume, bool may_catch_up, absl::Time now);
  // Sends due acknowledgements to the tail.
  void Acknowledge();

  // --- In the chain.

  // The predecessor has applied that much.
  void CatchUpTo(uint64_t applied);
  // True when it first holds everything that was acknowledged.
  bool OnApplied();

 private:
  absl::Status OnStateBegin(const kamino::internal::v1::StateBegin& begin,
                            bool may_resume, bool may_catch_up, Effect* effect);
  // Receives only the changes after that mutation.
  absl::Status BeginChanges(uint64_t after);
  absl::Status OnStateChunk(const kamino::internal::v1::StateChunk& chunk,
                            Effect* effect);
  void Follow(uint64_t from);
  // The link is gone.
  void AskAnew();

  const ChainOptions& options_;
  const LogRing* const ring_;
  StateCopy* const copy_;
  Upstream* const upstream_;
  Outbox* const outbox_;
  TransferStats* const stats_;

  State state_ = State::kOff;
  Dialer dialer_;
  bool invited_ = false;  // by the manager, in any state
  // A position in the log. kReceiving: the tail's when the transfer began.
  // kFollowing: once this node has applied it, the node keeps up. kCatchingUp:
  // once this node has applied it, the node holds everything.
  uint64_t target_ = 0;
  uint64_t chunks_taken_ = 0;
  bool owes_chunk_ack_ = false;
  bool needs_heap_ = false;  // changes alone do not suffice
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_JOINER_H_
