// What a node that was restarted, and has its place again, must have borne out
// by its neighbours: it may be on an old copy of its files. Until then it
// neither leads, nor appends, nor answers, nor gives its state to others.
//
// Where two neighbours are at odds one of them is on an old copy. Neither stops
// for the other's word: the link is not taken up, one that was restarted says
// that it is outrun, and the manager, which has the word of every member,
// decides (membership/next_view.h, ShortfallOf).
//
// Invariant borne out: applied here >= received at the successor and >= cleaned
// anywhere; the predecessor has applied what is received here.
//
//   state      input                         next
//   kTrusted   any                           kTrusted
//   kReturned  Enter, Leave                  kReturned; no word of this view
//                                            yet
//              Hello or Sync that agrees     kReturned; that side agrees
//              Hello or Sync that does not   kReturned; that side holds more,
//                                            if this node lacks what it must
//                                            have
//              Check, when no side that      kTrusted
//              there is fails to agree, and
//              what was applied at the Hello
//              is applied here
//              Check otherwise               kReturned
//              Forget                        kTrusted
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_RETURNING_H_
#define KAMINO_REPLICA_RETURNING_H_

#include <cstdint>
#include <string>

#include "kamino/internal/v1/chain.pb.h"
#include "replica/log_ring.h"

namespace kamino::replica {

class Returning {
 public:
  enum class State {
    kTrusted,   // what it holds needs nobody's word
    kReturned,  // it came back with what it held; nobody has borne that out yet
  };
  // Of a neighbour, in this view.
  enum class Word {
    kAbsent,     // the view has none there
    kSilent,     // nothing was said that counts
    kAgrees,     // both can be what they were
    kHoldsMore,  // more than it can if this node is what it was
  };

  // `ring` must outlive it.
  Returning(const LogRing* ring, State state) : ring_(ring), state_(state) {}

  State state() const { return state_; }
  Word before() const { return before_; }
  Word after() const { return after_; }
  bool trusted() const { return state_ == State::kTrusted; }
  // By the word of a neighbour this node is on an old copy.
  bool outrun() const {
    return !trusted() &&
           (before_ == Word::kHoldsMore || after_ == Word::kHoldsMore);
  }
  // Whether entries may be appended to what it has: they may have to be
  // given up as long as the successor has not said what it has.
  bool may_append() const {
    return trusted() || after_ == Word::kAbsent || after_ == Word::kAgrees;
  }

  // A view begins in which this node has these neighbours.
  void Enter(bool has_predecessor, bool has_successor);
  void Leave();
  // What it held counts no more, or nobody can hold anything yet.
  void Forget() { state_ = State::kTrusted; }

  // Whether this node and its predecessor can both be what they were. One that
  // is `behind` may be so far behind that it has to begin anew.
  bool OnHello(const kamino::internal::v1::Hello& hello, bool behind);

  struct Verdict {
    bool agrees = true;
    // If not:
    std::string reason;
    bool useless = false;  // what the successor holds: it has to begin anew
  };
  Verdict OnSync(const kamino::internal::v1::Sync& sync);

  // Trusted from here on if all is borne out.
  void Check();

 private:
  // True only the first time in a view.
  bool FirstAtOdds();

  const LogRing* const ring_;
  State state_;
  Word before_ = Word::kSilent;
  Word after_ = Word::kSilent;
  // What may have been completed when its predecessor said Hello.
  uint64_t return_to_ = 0;
  bool at_odds_logged_ = false;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_RETURNING_H_
