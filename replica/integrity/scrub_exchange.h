// The messages of a scrub. Scrub has the rules; this class has the links, and
// acts on judgements.
//
// A node whose data is wrong ends once its predecessor has the votes, so that
// the head can tell which node was damaged. The predecessor confirms them by
// closing the link: that needs no message that an older release lacks. The node
// ends after any close of that link, and after scrub_retry at the latest.
//
// A node compares only while its heap is the result of the operations applied
// so far and nothing else is known against it: `may_compare`.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_SCRUB_EXCHANGE_H_
#define KAMINO_REPLICA_INTEGRITY_SCRUB_EXCHANGE_H_

#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/integrity/damage.h"
#include "replica/integrity/scrub.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/downstream.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/link/upstream.h"
#include "replica/log/log_ring.h"
#include "replica/repair/donor.h"

namespace kamino::replica {

class ScrubExchange {
 public:
  using Compare = kamino::internal::v1::Compare;
  using Compared = kamino::internal::v1::Compared;

  // All pointers must outlive it.
  ScrubExchange(const ChainContext& chain, const Neighbours& neighbours,
                Scrub* scrub, Donor* donor, Damage* damage)
      : options_(*chain.options),
        place_(chain.place),
        ring_(chain.ring),
        scrub_(scrub),
        upstream_(neighbours.upstream),
        downstream_(neighbours.downstream),
        donor_(donor),
        damage_(damage),
        outbox_(chain.outbox) {}

  // The head asks, if that is due; other members report an unresolved range.
  void Continue(bool may_compare, absl::Time now);
  // From the predecessor.
  void OnCompare(LinkId link, Compare compare, bool may_compare,
                 absl::Time now);
  // From the successor. True: the successor's data is wrong, and it waits for
  // this node to close the link, which confirms that the votes have arrived.
  bool OnCompared(LinkId link, const Compared& compared, bool may_compare,
                  absl::Time now);

 private:
  void TellUnresolved(absl::Time now);
  // The votes are those of the first `count` members.
  bool AreOfMembers(const RangeVotes& votes, int count) const;
  void PassUp(const Compared& compared);
  RangeJudgement Conclude(const Compared& compared, absl::Time now);

  const ChainOptions& options_;
  const Place* const place_;
  const LogRing* const ring_;
  Scrub* const scrub_;
  Upstream* const upstream_;
  Downstream* const downstream_;
  Donor* const donor_;
  Damage* const damage_;
  Outbox* const outbox_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_SCRUB_EXCHANGE_H_
