// Who gets log entries from this node, and how far it has come: its successor
// in the view or, at the tail, the node that joins.
//
//   state       input                 next        effects
//   kNobody     Enter                 kProbe      dials it
//   kProbe      OnOpened              kProbe      Hello is due
//               ContinueAfter         kReplicate  what follows is to be sent
//               OnClosed, OnRejected  kProbe      dials it anew
//   kReplicate  ContinueAfter         kReplicate  what follows is to be sent
//               OnAppendAck           kReplicate  frees the window
//               Pump                  kReplicate  Appends
//               OnClosed, OnRejected  kProbe      dials it anew
//   kSnapshot   ContinueAfter         kFollow     what follows is to be sent
//               OnClosed              kNobody
//   kFollow     ContinueAfter         kFollow     what follows is to be sent
//               OnAppendAck           kFollow     frees the window
//               Pump                  kFollow     Appends
//               OnClosed              kNobody
//   kReplicate  SendInOrder           kReplicate  a Compare, once all up to its
//                                                 position is sent
//   kReplicate  OnDisputed            kReplicate  disputes() until Leave
//   any         Join                  kSnapshot   closes the link to another
//               Leave                 kNobody     closes the link
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
#ifndef KAMINO_REPLICA_DOWNSTREAM_H_
#define KAMINO_REPLICA_DOWNSTREAM_H_

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/chain_actions.h"
#include "replica/chain_options.h"
#include "replica/deadly_entries.h"
#include "replica/dialer.h"
#include "replica/log_ring.h"
#include "replica/outbox.h"

namespace kamino::replica {

class Downstream {
 public:
  enum class State {
    kNobody,     // comes after this node
    kProbe,      // the successor has to say what it holds; see dialer()
    kSnapshot,   // a node joins; it has to get the heap first
    kReplicate,  // it gets log entries
    kFollow,     // so does the node that joins; nobody waits for it
  };

  // All must outlive it.
  Downstream(const ChainOptions& options, const LogRing* ring, Outbox* outbox);

  State state() const { return state_; }
  // The successor has to answer: what it was sent, or where to go on.
  bool waits() const {
    return state_ == State::kProbe ||
           (state_ == State::kReplicate && sent_ > acked_);
  }
  // Log entries are sent to somebody.
  bool replicates() const {
    return state_ == State::kReplicate || state_ == State::kFollow;
  }
  // That somebody is, or will be, one that joins.
  bool joins() const {
    return state_ == State::kSnapshot || state_ == State::kFollow;
  }
  LinkId link() const { return dialer_.link(); }
  bool Has(LinkId link) const { return dialer_.Has(link); }
  uint64_t sent() const { return sent_; }
  uint64_t acked() const { return acked_; }
  // In this view the successor has told that it disputes an entry: it has
  // executed those before, and executes none after.
  bool disputes() const { return disputes_; }

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

  // It said that it holds everything up to `sequence`, and wants what follows.
  // It may hold more: entries were on their way, or are. `sequence` ends an
  // entry of the ring.
  void ContinueAfter(uint64_t sequence);
  void OnAppendAck(uint64_t received);
  // It has applied everything up to there: what it is sent follows that.
  // Whether it can have; counts it if not.
  bool OnCleaned(uint64_t cleaned);
  void OnDisputed() { disputes_ = true; }
  // Sends what is applied, as far as the window allows. What is sent lies in
  // the ring: nothing may be cleaned or appended before it has gone.
  // Those that are deadly are flagged.
  void Pump(const DeadlyRange& deadly = {});
  // Sends that to the successor behind everything up to its position, and
  // before what follows: with a Pump. Not once the link or view is over, or
  // more than that is sent. Another one takes its place.
  void SendInOrder(kamino::internal::v1::Compare compare);

 private:
  void SendCompareIfDue();

  const ChainOptions& options_;
  const LogRing* const ring_;
  Outbox* const outbox_;

  Dialer dialer_;
  State state_ = State::kNobody;
  bool disputes_ = false;
  // While it gets log entries.
  uint64_t sent_ = 0;
  uint64_t acked_ = 0;
  // Over this link: a Sync that was on its way meanwhile takes sent_ back.
  uint64_t most_sent_ = 0;
  uint64_t sent_bytes_ = 0;  // of (acked_, sent_]
  uint64_t sent_entries_ = 0;
  // While kReplicate: what goes behind the entry of its position.
  std::optional<kamino::internal::v1::Compare> compare_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_DOWNSTREAM_H_
