// A node joins (Kamino-Tx, section 5.2), at the tail: it is sent the heap while
// the chain serves, then a cut, then every log entry, as a successor. Once it
// keeps up, the manager appends it to the chain.
//
// Until then the tail keeps the entries that the node lacks in its ring, and
// so does every node before it; but not beyond half of the ring, and not for
// ever: then the node has to begin again.
//
// Clients may write faster than the heap is sent. After a few passes over what
// has changed they are slowed down (replica/brake.h): what is left may grow no
// more, but shrinks by half of what is sent. So a transfer ends whatever they
// write. Likewise while the node that joins takes entries more slowly.
//
//   state      input                    next       effects
//   kNobody    Begin                    kCopying   StateBegin
//              Begin, it can go on      kFollowed  StateBegin, log entries
//              Begin, it can catch up   kCopying   StateBegin; what changed is
//                                                  sent as the heap is, and
//                                                  once OnWanted
//              KeepsRing                kNobody    while it is retained
//   kCopying   OnWanted                 kCopying   those pages are sent too
//              Continue                 kCopying   chunks, as paced and as the
//                                                  window allows; from the
//                                                  fourth pass on holds
//                                                  completions
//              Continue, little left    kFollowed  the last chunks of a cut,
//                                                  log entries
//              OnChunkAck               kCopying
//              OnClosed, Leave          kNobody
//   kFollowed  OnClosed, Leave          kNobody    the ring is retained a while
//              Continue                 kFollowed  holds completions while a
//                                                  quarter of the ring is full
//   any        Begin                    as above, anew; who joined before has
//                                       given way
//              Forget                   kNobody    closes the link; nothing is
//                                                  retained
//              KeepsRing, ring half     kNobody    as Forget
//              full, or three quarters
//              while it holds
//
// Its state follows Downstream's: kSnapshot is kCopying, kFollow is kFollowed.
//
// Invariants:
//   1. At most one node joins. It keeps out others that ask only while it gets
//      on, and without long pauses: it may be stopped, or cut off from the
//      manager, and its link be well.
//   2. What a node that follows, or did a moment ago, lacks is in the ring.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_DONOR_H_
#define KAMINO_REPLICA_DONOR_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/brake.h"
#include "replica/catch_up_history.h"
#include "replica/chain_actions.h"
#include "replica/chain_options.h"
#include "replica/downstream.h"
#include "replica/log_ring.h"
#include "replica/outbox.h"
#include "replica/pacer.h"
#include "replica/state_copy.h"

namespace kamino::replica {

class Donor {
 public:
  enum class State {
    kNobody,    // joins
    kCopying,   // a node is being sent the heap
    kFollowed,  // it has it, and gets log entries
  };

  // All must outlive it.
  Donor(const ChainOptions& options, const LogRing* ring, StateCopy* copy,
        Downstream* downstream, Outbox* outbox, TransferStats* stats);

  State state() const;
  // The node that joins; "" for kNobody.
  const std::string& joining() const { return joining_; }
  // Log entries are kept for a node that was joining and is gone.
  bool retains() const { return retain_until_.has_value(); }

  // Why the node cannot join here and now; "" if it can: also again, in the
  // same life or in a later one. `may_give`: this node is the tail, and sound.
  std::string Refuse(const kamino::internal::v1::Hello& hello,
                     const membership::View& view, bool may_give,
                     absl::Time now) const;
  // It may. `borne_out`: as StateBegin says.
  void Begin(LinkId link, const kamino::internal::v1::Hello& hello,
             const CatchUpHistory::Plan& plan, bool borne_out, absl::Time now);
  // False: that is nothing it could ask for.
  bool OnWanted(const kamino::internal::v1::StateWanted& wanted);
  void OnChunkAck(uint64_t chunks);
  // Sends what may go now.
  void Continue(absl::Time now);

  // Whether log entries that the chain has completed stay in the ring.
  bool KeepsRing();
  // How much the chain may complete: all that is applied, or less while writes
  // are held back.
  uint64_t MayComplete();
  // What that said last, if it was less than all; else nothing.
  std::optional<uint64_t> held_at() const { return held_at_; }
  // True when entries have stayed in the ring for long enough just now, or some
  // were held back that may be completed.
  bool OnTick(absl::Time now);
  // Nobody who joins needs what is in the ring any more.
  void Forget();
  // The same, and the entry that begins with this mutation cannot be sent any
  // more: who joins and lacks it gets the heap.
  void ForgetUnreadable(uint64_t first);
  // The same before anybody has asked for it.
  void NoteUnreadable(uint64_t first) {
    unreadable_ = std::max(unreadable_, first);
  }
  // As Forget, where somebody joins or something is retained: what the heap
  // holds now is no state of the chain, and must not be given on.
  void Stop();

  // True when it was the link to the node that joins.
  bool OnClosed(LinkId link, absl::Time now);
  // The view has ended.
  void Leave(absl::Time now);
  // This node is not the tail: what is retained is for another to keep.
  void EndRetaining() { retain_until_.reset(); }

 private:
  // Of the heap, or of what changed. Fills `begin` in.
  void BeginCopy(const CatchUpHistory::Plan& plan,
                 kamino::internal::v1::StateBegin* begin);
  void SendEntriesAfter(uint64_t sequence);
  bool SendChunk();  // false: none is left
  void SendCut();
  // One that stands for so many bytes of the heap.
  void Send(std::string chunk, size_t bytes);
  // The link is gone, or will be.
  void Lose(absl::Time now);
  // The heap is under way no more, whether the other node has all of it or not.
  void EndCopy();
  // Counts passes.
  void CountPass();
  // Whether writes are to wait for the node that joins.
  bool IsBehind(absl::Time now) const;
  // For how long it has taken nothing.
  absl::Duration Pause(absl::Time now) const;
  // Whether that, or its pauses together, are longer than they may be.
  bool Stutters(absl::Time now) const;
  void NoteProgress(absl::Time now);
  // Holds writes back, or lets them go.
  void UpdateBrake(absl::Time now);
  // Of what the node that joins has to take before it can be a member.
  uint64_t Progress() const;

  const ChainOptions& options_;
  const LogRing* const ring_;
  StateCopy* const copy_;
  Downstream* const downstream_;
  Outbox* const outbox_;
  TransferStats* const stats_;

  std::string joining_;
  uint64_t joining_incarnation_ = 0;  // of that node; 0: it does not say
  // While kCopying.
  bool awaits_wanted_ = false;  // nothing is sent before
  uint64_t chunks_sent_ = 0;
  uint64_t chunks_acked_ = 0;
  uint64_t bytes_sent_ = 0;  // of chunks; zeros take none
  // While a node joins: what this one had applied when entries began to
  // follow; what Progress was at the last tick, and since when; time that went
  // by without a tick does not count.
  uint64_t target_ = 0;
  uint64_t progress_ = 0;
  // A mutation that cannot be sent any more; nobody goes on from before it.
  uint64_t unreadable_ = 0;
  absl::Time progressed_;
  // Its long pauses, less the time in which it went on since.
  absl::Duration paused_;
  bool braked_ = false;  // writes were held back in this transfer
  bool told_ = false;    // the log says that they do not wait for it
  absl::Time ticked_ = absl::InfinitePast();  // also while nobody joins
  Pacer pacer_;
  // While kCopying: what had been sent when the pass began, and was left then;
  // the same when the first pass began in which writes are held back.
  uint64_t pass_sent_ = 0;
  uint64_t pass_left_ = 0;
  uint64_t braked_sent_ = 0;
  uint64_t braked_left_ = 0;
  Brake brake_;
  std::optional<uint64_t> held_at_;
  uint64_t released_ = 0;  // what MayComplete said last
  // The ring is kept for one that is not there, until then.
  std::optional<absl::Time> retain_until_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DONOR_H_
