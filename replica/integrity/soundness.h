// Decides what the node may do with its data: lead or answer, compare, catch up
// with the chain, resume.
//
// Not thread-safe: the node's core thread owns it.
#ifndef KAMINO_REPLICA_INTEGRITY_SOUNDNESS_H_
#define KAMINO_REPLICA_INTEGRITY_SOUNDNESS_H_

#include <cstdint>

#include "membership/view.h"
#include "replica/integrity/damage.h"
#include "replica/integrity/divergence.h"
#include "replica/integrity/divergent_result.h"
#include "replica/integrity/scrub.h"
#include "replica/link/chain_context.h"
#include "replica/repair/neighbour_repair.h"
#include "replica/repair/returning.h"

namespace kamino::replica {

// The parts that report damaged or unconfirmed data.
struct SoundnessInputs {
  const Returning* returning;
  const NeighbourRepair* neighbour_repair;
  const Divergence* divergence;
  const DivergentResult* divergent_result;
  const Damage* damage;
  const Scrub* scrub;
};

class Soundness {
 public:
  // `chain` and all pointers must outlive it.
  Soundness(const ChainContext& chain, const SoundnessInputs& inputs)
      : chain_(chain), inputs_(inputs) {}

  // For the manager.
  membership::Condition condition() const;
  // The node has a place in the chain and a heap on which it may execute.
  bool ready() const;
  // No damage of its data is suspected. Otherwise a head accepts no requests.
  bool no_damage_suspected() const;
  // The first mutation of an entry whose result differs from the head's, while
  // it is not decided which node erred; 0: none.
  uint64_t disputed() const { return chain_.record->state().disputed; }

  // --- The heap.

  // It holds a state of the chain, possibly a stale one.
  bool has_state() const;
  // It may lack what the chain has acknowledged.
  bool behind() const;
  // It is torn, by interrupted entries or by a diverging one that was not
  // executed to its end.
  bool half_executed() const;
  // It is neither torn nor being received.
  bool heap_whole() const { return has_state() && !half_executed(); }

  // --- What the node may do.

  // Log entries of the chain can follow this node's data, though it has no
  // place.
  bool may_resume() const;
  // This node has no place, and its data is the chain's state at some mutation,
  // apart from entries that its ring names.
  bool may_catch_up() const;
  // The heap is the result of the operations applied so far, and nothing is
  // known against it.
  bool may_compare() const;

 private:
  const ChainContext& chain_;
  const SoundnessInputs inputs_;
};

}  // namespace kamino::replica

#endif  // KAMINO_REPLICA_INTEGRITY_SOUNDNESS_H_
