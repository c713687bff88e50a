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

// Not thread-safe; while drains are deferred, only one thread uses the regions.
class DeferredDrains {
 public:
  // Returns `below` with drains that can be deferred. While they are, Drain
  // returns at once, without Region::Drain's guarantee. This object must
  // outlive the region.
  std::unique_ptr<Region> Wrap(std::unique_ptr<Region> below);

  void Begin() { deferred_ = true; }
  // Makes all that was flushed durable and ends the deferral. Without a
  // deferral, does nothing.
  void End();
  // Makes all that was flushed durable and keeps the deferral.
  void DrainNow();
  bool deferred() const { return deferred_; }

 private:
  class DeferringRegion;

  bool deferred_ = false;
  std::vector<DeferringRegion*> regions_;
};

}  // namespace kamino::engine

#endif  // KAMINO_ENGINE_PMEM_DEFERRED_DRAINS_H_
