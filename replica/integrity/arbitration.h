// Decides a divergence: which nodes are asked about the entry, what each says,
// and which node must leave (replica/integrity/divergence.h has the rules).
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_ARBITRATION_H_
#define KAMINO_REPLICA_INTEGRITY_ARBITRATION_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kamino/internal/v1/chain.pb.h"
#include "replica/integrity/damage.h"
#include "replica/integrity/divergence.h"
#include "replica/integrity/scrub.h"
#include "replica/link/chain_context.h"
#include "replica/link/chain_options.h"
#include "replica/link/downstream.h"
#include "replica/link/outbox.h"
#include "replica/link/place.h"
#include "replica/link/upstream.h"
#include "replica/log/log_ring.h"
#include "replica/state/executor.h"

namespace kamino::replica {

class Arbitration {
 public:
  // All pointers must outlive it.
  Arbitration(const ChainContext& chain, const Neighbours& neighbours,
              Divergence* divergence, const Scrub* scrub, Damage* damage)
      : options_(*chain.options),
        place_(chain.place),
        ring_(chain.ring),
        executor_(chain.executor),
        divergence_(divergence),
        scrub_(scrub),
        upstream_(neighbours.upstream),
        downstream_(neighbours.downstream),
        damage_(damage),
        outbox_(chain.outbox) {}

  // --- At the node whose result differs from that of the head before it.

  // Reports this node's result to the predecessor, once over each link, so that
  // nothing on its way here is quarantined (replica/log/quarantined_entries.h)
  // if this node is lost. Only while the divergence is open.
  void TellPredecessor();
  // Acts on the votes so far; only while the divergence is open.
  void Continue(absl::Time now);
  // The successor's vote: an answer to a question, or notice of a divergence of
  // its own.
  void OnVote(LinkId link, const kamino::internal::v1::Vote& vote);

  // --- At its successor. The predecessor asks about the entry of these bytes.
  // `sound`: nothing is known against this node's data.
  void OnAsked(LinkId link, absl::string_view bytes, bool sound);

  // --- At the node that erred.

  // Two nodes behind this head have found that its result is wrong.
  // `completed`: the last mutation on which all agree.
  void OnConvict(LinkId link, uint64_t first, uint64_t completed);
  // Ends this node, whose result differs from that of `others`.
  void EndThisNode(uint64_t first, absl::string_view others);

 private:
  void SendVote(LinkId link, uint64_t first, uint64_t hash);
  // Once in a view.
  void TellUndecided();
  void TellUnasked(absl::Time now);

  const ChainOptions& options_;
  const Place* const place_;
  const LogRing* const ring_;
  Executor* const executor_;
  Divergence* const divergence_;
  const Scrub* const scrub_;
  Upstream* const upstream_;
  Downstream* const downstream_;
  Damage* const damage_;
  Outbox* const outbox_;
  LinkId told_ = kNoLink;  // the last link that TellPredecessor has used
  // The successor that has no link, and when that is reported.
  std::string unasked_;
  absl::Time tell_unasked_at_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_ARBITRATION_H_
