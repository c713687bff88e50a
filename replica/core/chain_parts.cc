#include "replica/core/chain_parts.h"

namespace kamino::replica {

using membership::Condition;

LinkParts::LinkParts(const ChainContext& chain)
    : upstream(*chain.options, chain.ring, chain.outbox),
      downstream(*chain.options, chain.ring, chain.outbox),
      completions(*chain.options, chain.ring->cleaned(), chain.outbox),
      announcements(*chain.options, chain.record, chain.outbox),
      joiner(chain, &upstream),
      donor(chain, &downstream) {}

void LinkParts::SendSync(LinkId link, bool behind) {
  announcements.TellIn(upstream.SendSync(link, behind));
}

DataParts::DataParts(const ChainContext& chain, LinkParts* links,
                     ScrubbedHeap* scrubbed)
    : returning(chain.ring,
                chain.record->state().condition == Condition::kFresh ||
                        chain.record->state().condition == Condition::kSound
                    ? Returning::State::kReturned
                    : Returning::State::kTrusted),
      neighbour_repair(chain.ring, chain.executor, chain.outbox,
                       chain.options->fetch_timeout),
      repair_source(chain.ring, chain.executor, chain.outbox),
      quarantined(chain.options->mode, chain.ring, chain.record),
      divergence(chain.record, chain.options->fetch_timeout),
      divergent_result(chain, &neighbour_repair, &divergence),
      damage(chain.record, chain.outbox),
      scrub(*chain.options, scrubbed),
      scrub_exchange(chain, {&links->upstream, &links->downstream}, &scrub,
                     &links->donor, &damage),
      arbitration(chain, {&links->upstream, &links->downstream}, &divergence,
                  &scrub, &damage),
      soundness(chain, {&returning, &neighbour_repair, &divergence,
                        &divergent_result, &damage, &scrub}) {}

void DataParts::ForgetInterrupted() {
  neighbour_repair.Forget();
  quarantined.Forget();
  quarantined.SetRedone(0);
}

}  // namespace kamino::replica
