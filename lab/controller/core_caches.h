// A core's own caches, which say how long a hit takes, no more: the shared
// cache has the data (shared_cache.h).
#ifndef KAMINO_LAB_CONTROLLER_CORE_CACHES_H_
#define KAMINO_LAB_CONTROLLER_CORE_CACHES_H_

#include "lab/controller/line.h"
#include "lab/controller/machine.h"
#include "lab/controller/set_associative.h"

namespace kamino::bench::controller {

class CoreCaches {
 public:
  // `machine` must outlive this.
  explicit CoreCaches(const Machine* machine)
      : machine_(*machine), l1_(machine->l1), l2_(machine->l2) {}

  // How long the hit of a line takes. Both caches have the line from now on.
  Time HitLatency(LineNumber line) {
    const bool in_l1 = l1_.Find(line) != nullptr;
    const bool in_l2 = l2_.Find(line) != nullptr;
    if (!in_l1) l1_.Take(l1_.Oldest(line), line, 0);
    if (!in_l2) l2_.Take(l2_.Oldest(line), line, 0);
    const CacheShape& hit = in_l1   ? machine_.l1
                            : in_l2 ? machine_.l2
                                    : machine_.l3;
    return hit.cycles * machine_.cycle;
  }

 private:
  const Machine& machine_;
  SetAssociative<char> l1_;
  SetAssociative<char> l2_;
};

}  // namespace kamino::bench::controller

#endif  // KAMINO_LAB_CONTROLLER_CORE_CACHES_H_
