// The node that receives log entries from this one, and its position: the
// successor in the view or, at the tail, the joining node.
//
//   state       input                 next        effects
//   kNone       Enter                 kProbe      dials it
//   kProbe      OnOpened              kProbe      Hello is due
//               ContinueAfter         kReplicate  what follows is to be sent
//               OnClosed, OnRejected  kProbe      dials it anew
//   kReplicate  ContinueAfter         kReplicate  what follows is to be sent
//               OnAppendAck           kReplicate  frees the window
//               Pump                  kReplicate  Appends
//               OnClosed, OnRejected  kProbe      dials it anew
//   kSnapshot   ContinueAfter         kFollow     what follows is to be sent
//               OnClosed              kNone
//   kFollow     ContinueAfter         kFollow     what follows is to be sent
//               OnAppendAck           kFollow     frees the window
//               Pump                  kFollow     Appends
//               OnClosed              kNone
//   kReplicate  SendInOrder           kReplicate  a Compare, once all up to its
//                                                 position is sent
//   kReplicate  OnDivergence          kReplicate  diverges() until Leave
//   any         Join                  kSnapshot   closes the link to another
//               Leave                 kNone       closes the link
// Appends: of what is applied and not sent, as far as the window allows.
// Anything else changes nothing.
//
// Invariants:
//   1. acked() <= sent() <= applied here, while it gets log entries.
//   2. At most a window of entries, and of bytes, is sent and not
//      acknowledged.
//   3. All of (acked(), sent()] and what follows is in the ring.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_DOWNSTREAM_H_
#define KAMINO_REPLICA_LINK_DOWNSTREAM_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_options.h"
#include "replica/link/dialer.h"
#include "replica/link/outbox.h"
#include "replica/log/log_ring.h"
#include "replica/log/quarantined_entries.h"

namespace kamino::replica {

class Downstream {
 public:
  enum class State {
    kNone,       // no node after this one
    kProbe,      // the successor must say what it holds; see dialer()
    kSnapshot,   // a joining node, which needs the heap first
    kReplicate,  // the successor receives log entries
    kFollow,     // the joining node does; the chain does not wait for it
  };

  // All pointers must outlive it.
  Downstream(const ChainOptions& options, const LogRing* ring, Outbox* outbox);

  State state() const { return state_; }
  // Whether the successor owes an answer: an acknowledgement, or where to
  // resume.
  bool waits() const {
    return state_ == State::kProbe ||
           (state_ == State::kReplicate && sent_ > acked_);
  }
  // Whether a node receives log entries.
  bool replicates() const {
    return state_ == State::kReplicate || state_ == State::kFollow;
  }
  // Whether that node joins, or will.
  bool joins() const {
    return state_ == State::kSnapshot || state_ == State::kFollow;
  }
  LinkId link() const { return dialer_.link(); }
  bool Has(LinkId link) const { return dialer_.Has(link); }
  uint64_t sent() const { return sent_; }
  uint64_t acked() const { return acked_; }
  // In this view the successor has reported a divergence: it has executed the
  // entries before, and executes none after.
  bool diverges() const { return diverges_; }

  // The view has a successor for this node.
  void Enter(const membership::Member& successor, absl::Time now);
  // A node joins over a link that it opened.
  void Join(LinkId link);
  void Leave();

  // True when a Hello is due, which is filled in.
  bool OnOpened(LinkId link, absl::Time now,
                kamino::internal::v1::Hello* hello);
  void OnClosed(LinkId link, absl::Time now);
  void OnRejected(LinkId link, absl::Time now);
  void OnTick(absl::Time now);
  void Delay(absl::Time until) { dialer_.Delay(until); }

  // The node holds everything up to `sequence`, and needs what follows. It may
  // hold more: entries may be on their way. `sequence` ends an entry of the
  // ring.
  void ContinueAfter(uint64_t sequence);
  void OnAppendAck(uint64_t received);
  // The node has applied everything up to there: resumes after it. Whether that
  // is possible; counts the message as malformed if not.
  bool OnCleaned(uint64_t cleaned);
  void OnDivergence() { diverges_ = true; }
  // Sends applied entries, as far as the window allows, and flags quarantined
  // ones. They lie in the ring: nothing may be cleaned or appended before they
  // have gone.
  void Pump(const QuarantinedRange& quarantined = {});
  // Sends it to the successor with a Pump, after everything up to its position
  // and before what follows. Dropped when the link or view ends, or more has
  // been sent. A later one replaces it.
  void SendInOrder(kamino::internal::v1::Compare compare);

 private:
  void SendCompareIfDue();

  const ChainOptions& options_;
  const LogRing* const ring_;
  Outbox* const outbox_;

  Dialer dialer_;
  State state_ = State::kNone;
  bool diverges_ = false;
  // While the node receives log entries.
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  // Over this link: a Sync that was on its way meanwhile sets sent_ back.
  uint64_t most_sent_ = 0;
  uint64_t sent_bytes_ = 0;  // of (acked_, sent_]
  uint64_t sent_entries_ = 0;
  // While kReplicate: to be sent after the entry of its position.
  std::optional<kamino::internal::v1::Compare> compare_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_DOWNSTREAM_H_
