// The node that sends log entries to this one, and what this node owes it: the
// predecessor in the view or, at a joining node, the tail.
//
//   state     input                     next      effects
//   kApart    Attach                    kInOrder
//   kInOrder  Take, the next            kInOrder  appended, durably; owes an
//                                                 acknowledgement
//             Take, one it has          kInOrder  owes an acknowledgement
//             Take, behind a gap        kGap      owes a Sync
//             Take, the ring is full    kGap      owes a Sync once it has room
//             Take, may not append yet  kGap
//   kGap      Take, the next            kInOrder  as above
//             Take, behind a gap        kGap
//             AskAgain                  kGap      owes a Sync
//   these     Take, no sound entry                a protocol error: the link
//                                                 is ended, and Sync is said on
//                                                 the next
//             OnCleaned                           owes a clean-up, and the Sync
//                                                 that waited for room
//             Acknowledge                         sends what it owes: a Sync
//                                                 includes everything else;
//                                                 too soon after the last time
//                                                 only a Sync
//   any       Attach                    kInOrder  closes another link
//             Detach, OnClosed          kApart
//             Leave                     kApart    closes the link; owes nothing
// What is owed while it is kApart is sent once it is attached.
//
// Acknowledgements and clean-ups are urgent only if a window or a ring runs out
// of room. So one stands for all of the last moment, and does not wake the
// neighbour up for each entry.
//
// Invariant: what is acknowledged is durable in the ring.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_UPSTREAM_H_
#define KAMINO_REPLICA_LINK_UPSTREAM_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"
#include "replica/log/log_entry.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

class Upstream {
 public:
  enum class State {
    kApart,    // no link, or no node before this one
    kInOrder,  // the next entry is on its way, or will be
    kGap,      // entries on their way do not follow; they must be sent again
  };

  // All pointers must outlive it.
  Upstream(const ChainOptions& options, LogRing* ring, Outbox* outbox)
      : options_(options), ring_(ring), outbox_(outbox) {}

  State state() const { return state_; }
  LinkId link() const { return link_; }
  bool attached() const { return state_ != State::kApart; }
  bool Has(LinkId link) const { return link == link_; }

  void Attach(LinkId link);
  void Detach();  // another part closes the link
  void OnClosed(LinkId link);
  void Leave();

  // True when the log entry, `bytes` as received, was appended to the ring.
  // `may_append`: whether entries may be appended at all. A failure here stops
  // the node; a wrong entry ends its link (Outbox::ProtocolError).
  bool Take(absl::string_view bytes, bool may_append);
  // Refused entries may be sent now.
  void AskAgain();
  // The ring has more room.
  void OnCleaned();
  void OweCleanUp() { owed_.clean_up = true; }

  // Sends what is due, after the usual delay or if there is much of it.
  // `behind`: as in Sync.
  void Acknowledge(bool behind, absl::Time now);
  // Tells the other side, at once, where to resume. The caller may add to the
  // result before anything else is sent.
  kamino::internal::v1::Sync* SendSync(LinkId link, bool behind);

 private:
  // Due at the next Acknowledge; each stands for any number of reasons.
  struct Owed {
    bool ack = false;
    bool clean_up = false;
    bool sync = false;
    bool sync_once_cleaned = false;  // not before the ring has room
    // The number of log entries that `ack` covers.
    uint64_t entries = 0;
    uint64_t bytes = 0;
  };

  // The protocol error in a received entry; "": it is valid.
  std::string ProtocolErrorOf(const absl::StatusOr<LogEntry>& entry) const;
  // The received entry is not the next one.
  void FallBehind();
  // Whether the window or a ring, this one or one before it, may run full.
  bool OwesMuch() const;

  const ChainOptions& options_;
  LogRing* const ring_;
  Outbox* const outbox_;

  State state_ = State::kApart;
  LinkId link_ = kNoLink;  // unless kApart
  Owed owed_;
  absl::Time last_paid_ = absl::InfinitePast();
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_UPSTREAM_H_
