// A restarted node that still has its place may hold a stale copy of its files.
// Until its neighbours have confirmed its data it neither leads, nor appends,
// nor answers, nor sends its state to others.
//
// If two neighbours disagree, one of them has a stale copy. Neither stops on
// the other's word: the link is refused, the restarted node reports that it is
// outrun, and the manager, which has the word of every member, decides
// (membership/manager/next_view.h, ShortfallOf).
//
// Confirmed invariant: applied here >= received at the successor and >= cleaned
// anywhere; the predecessor has applied everything received here.
//
//   state      input                         next
//   kTrusted   any                           kTrusted
//   kReturned  Enter, Leave                  kReturned; no word of this view
//                                            yet
//              Hello or Sync that agrees     kReturned; that side agrees
//              Hello or Sync that does not   kReturned; that side holds more,
//                                            if this node lacks what it must
//                                            have
//              Check, once each neighbour    kTrusted
//              has agreed, and this node has
//              applied all that the
//              predecessor had at its Hello
//              Check otherwise               kReturned
//              Forget                        kTrusted
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_REPAIR_RETURNING_H_
#define KAMINO_REPLICA_REPAIR_RETURNING_H_

#include <cstdint>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/log/log_ring.h"

namespace kamino::replica {

class Returning {
 public:
  enum class State {
    kTrusted,   // its data needs no confirmation
    kReturned,  // restarted with its data; not confirmed yet
  };
  // A neighbour's word in this view.
  enum class Word {
    kAbsent,     // the view has none there
    kSilent,     // has said nothing that counts
    kAgrees,     // both can have correct data
    kHoldsMore,  // has more than it can if this node's data is current
  };

  // `ring` must outlive it.
  Returning(const LogRing* ring, State state) : ring_(ring), state_(state) {}

  State state() const { return state_; }
  Word before() const { return before_; }
  Word after() const { return after_; }
  bool trusted() const { return state_ == State::kTrusted; }
  // A neighbour's word shows that this node has a stale copy.
  bool outrun() const {
    return !trusted() &&
           (before_ == Word::kHoldsMore || after_ == Word::kHoldsMore);
  }
  // Whether entries may be appended: they may have to be dropped as long as the
  // successor has not said what it has.
  bool may_append() const {
    return trusted() || after_ == Word::kAbsent || after_ == Word::kAgrees;
  }

  // A view begins in which this node has these neighbours.
  void Enter(bool has_predecessor, bool has_successor);
  void Leave();
  // Its data does not count any more, or no node can hold any data yet.
  void Forget() { state_ = State::kTrusted; }

  // Whether this node and its predecessor can both have current data. A node
  // that is `behind` may have to begin anew.
  bool OnHello(const kamino::internal::v1::Hello& hello, bool behind);

  struct Verdict {
    bool agrees = true;
    // If not:
    std::string reason;
    bool useless = false;  // the successor must begin anew
  };
  Verdict OnSync(const kamino::internal::v1::Sync& sync);

  // Trusted from here on if everything is confirmed.
  void Check();

 private:
  // True only the first time in a view.
  bool FirstAtOdds();

  const LogRing* const ring_;
  State state_;
  Word before_ = Word::kSilent;
  Word after_ = Word::kSilent;
  // The highest mutation that may have been completed at its predecessor's
  // Hello.
  uint64_t return_to_ = 0;
  bool at_odds_logged_ = false;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_REPAIR_RETURNING_H_
