// Defers the drains of several regions. A caller uses it while a crash would
// make it discard the regions' content in any case, so that the order in which
// stores become durable does not matter. On a disk that saves one sync for each
// drain.
#ifndef KAMINO_ENGINE_PMEM_DEFERRED_DRAINS_H_
#define KAMINO_ENGINE_PMEM_DEFERRED_DRAINS_H_

#include <memory>
#include <vector>

#include "engine/pmem/region.h"

namespace kamino::engine {

// Not thread-safe; while drains are deferred one thread only uses the regions.
class DeferredDrains {
 public:
  // A region as `below`. Its Drain returns at once while drains are deferred;
  // it does not keep the promise of Region::Drain then. This must outlive it.
  std::unique_ptr<Region> Wrap(std::unique_ptr<Region> below);

  void Begin() { deferred_ = true; }
  // All that was flushed is durable on return, and drains are no longer
  // deferred. Does nothing where they are not.
  void End();
  // While drains stay deferred: all that was flushed is durable on return.
  void DrainNow();
  bool deferred() const { return deferred_; }

 private:
  class DeferringRegion;

  bool deferred_ = false;
  std::vector<DeferringRegion*> regions_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_DEFERRED_DRAINS_H_
