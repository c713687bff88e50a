// How the head learns what the whole chain has applied: the tail reports it,
// over a link of its own to the head.
//
//   state     input                      next       effects
//   kOff      EnterAsTail                kTail      dials the head
//             EnterAsHead                kHead
//   kTail     OnOpened                   kTail      Hello is due
//             OnSync                     kTail      owes a Completion
//             Owe                        kTail      owes a Completion
//             Report, head has answered  kTail      Completion, if owed
//             OnClosed, OnRejected       kTail      dials it anew
//   kHead     Accept                     kHead      closes another link
//             OnClosed                   kHead
//   any       Leave                      kOff       closes the link; owes
//                                                   nothing
//             CompleteTo, further        the same   completed
//
// Invariant: completed() never goes back, except for another heap.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_COMPLETIONS_H_
#define KAMINO_REPLICA_LINK_COMPLETIONS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_options.h"
#include "replica/link/dialer.h"
#include "replica/link/outbox.h"

namespace kamino::replica {

class Completions {
 public:
  enum class State {
    kOff,   // neither; or a chain of one
    kTail,  // reports to the head
    kHead,  // receives the tail's reports
  };

  // `completed`: the initial position. All pointers must outlive it.
  Completions(const ChainOptions& options, uint64_t completed, Outbox* outbox);

  State state() const { return state_; }
  // kNoLink without a link.
  LinkId link() const;
  bool connected() const;
  bool Has(LinkId link) const {
    return link != kNoLink && link == this->link();
  }

  void EnterAsTail(const membership::Member& head, absl::Time now);
  void EnterAsHead() { state_ = State::kHead; }
  void Leave();
  void OnClosed(LinkId link, absl::Time now);
  void OnTick(absl::Time now) { dialer_.OnTick(now); }
  void Delay(absl::Time until) { dialer_.Delay(until); }

  // --- At the tail.

  // True when a Hello is due, which is filled in.
  bool OnOpened(LinkId link, absl::Time now,
                kamino::internal::v1::Hello* hello);
  void OnRejected(LinkId link, absl::Time now);
  // True when it came from the head.
  bool OnSync(LinkId link);
  // More entries are applied.
  void Owe() { owes_ = true; }
  void Report(uint64_t applied);

  // --- At the head.

  void Accept(LinkId link);

  // --- Position.

  uint64_t completed() const { return completed_; }
  void CompleteTo(uint64_t sequence);
  // Known without the tail: no report is needed.
  void Know(uint64_t completed);
  // Another heap, whose chain has completed that much.
  void Restart(uint64_t completed) { completed_ = completed; }

 private:
  Outbox* const outbox_;

  State state_ = State::kOff;
  Dialer dialer_;              // while kTail
  LinkId accepted_ = kNoLink;  // while kHead
  bool owes_ = false;
  uint64_t completed_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_COMPLETIONS_H_
