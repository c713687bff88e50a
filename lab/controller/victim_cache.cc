#include "lab/controller/victim_cache.h"

#include "lab/controller/hashed_victims.h"
#include "lab/controller/set_victims.h"

namespace kamino::bench::controller {
namespace {

template <typename Rule>
std::unique_ptr<VictimCache> Make(const Machine& machine,
                                  VictimCache::WriteHome write_home) {
  if (machine.victims == VictimForm::kHashed) {
    return std::make_unique<HashedVictims<Rule>>(std::move(write_home));
  }
  return std::make_unique<SetVictims<Rule>>(machine.victim_cache,
                                            std::move(write_home));
}

}  // namespace

std::unique_ptr<VictimCache> MakeVictimCache(
    const Machine& machine, VictimCache::WriteHome write_home) {
  return machine.release == ReleaseForm::kWatermark
             ? Make<WatermarkRule>(machine, std::move(write_home))
             : Make<DependenceSetRule>(machine, std::move(write_home));
}

}  // namespace kamino::bench::controller
