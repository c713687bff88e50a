// Keeps a link open that this node opens: to its successor, from the tail to
// the head, or from a node that joins to the tail.
//
//   state         input                 next          effects
//   kIdle         Aim                   kWaiting
//   kWaiting      Hasten                kWaiting      not later than now
//                 Delay                 kWaiting      not before then
//                 OnTick, when due      kConnecting   opens a link
//   kConnecting   OnOpened              kGreeting     Hello is due
//                 Establish             kEstablished
//                 OnTick, when due      kWaiting      closes it
//   kGreeting     Establish             kEstablished
//                 OnTick, when due      kWaiting      closes it
//   these three   Retry                 kWaiting      closes it
//                 OnClosed              kWaiting
//                 Leave                 kIdle         closes it
//   any           Adopt                 kEstablished  closes another one
// Anything else changes nothing.
//
// The first pauses between attempts are short: a neighbour that is only late
// with a view has it in a moment. After each Hello without an answer in time
// the next one gets twice as long, up to connect_timeout: a neighbour on an
// overloaded machine may need that.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_LINK_DIALER_H_
#define KAMINO_REPLICA_LINK_DIALER_H_

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "membership/view.h"
#include "replica/link/chain_actions.h"
#include "replica/link/chain_options.h"
#include "replica/link/outbox.h"

namespace kamino::replica {

class Dialer {
 public:
  enum class State {
    kIdle,         // no member to reach
    kWaiting,      // for the next attempt
    kConnecting,   // the transport has not answered
    kGreeting,     // the other side has not answered Hello
    kEstablished,  // the other side has answered
  };

  // `options` and `outbox` must outlive it.
  Dialer(const ChainOptions& options, kamino::internal::v1::LinkPurpose purpose,
         Outbox* outbox)
      : options_(options), purpose_(purpose), outbox_(outbox) {}

  State state() const { return state_; }
  bool established() const { return state_ == State::kEstablished; }
  // kNoLink while it is kIdle or kWaiting.
  LinkId link() const { return link_; }
  // Whether this is its link.
  bool Has(LinkId link) const { return link != kNoLink && link == link_; }

  // Dials the member at the first OnTick from `at` on.
  void Aim(const membership::Member& member, absl::Time at);
  void Hasten(absl::Time now);
  // The next attempt is not before that.
  void Delay(absl::Time until);
  // Takes over a link that the other side opened. It is not opened anew.
  void Adopt(LinkId link);

  // True when it is its link: a Hello is due.
  bool OnOpened(LinkId link, absl::Time now);
  // The other side has accepted this node.
  void Establish();
  // True when it was its link.
  bool OnClosed(LinkId link, absl::Time now);
  void OnTick(absl::Time now);
  // Gives the link up and tries anew.
  void Retry(absl::Time now);
  void Leave();

 private:
  void Wait(absl::Time now);
  absl::Duration HelloTimeout() const;

  const ChainOptions& options_;
  const kamino::internal::v1::LinkPurpose purpose_;
  Outbox* const outbox_;

  State state_ = State::kIdle;
  LinkId link_ = kNoLink;
  membership::Member member_;  // unless kIdle, or adopted
  int failures_ = 0;           // in a row
  int late_hellos_ = 0;        // in a row
  // When it tries again in kWaiting, gives up in kConnecting and kGreeting.
  absl::Time due_ = absl::InfiniteFuture();
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_LINK_DIALER_H_
