#include "tests/engine/crash/planted_faults.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "engine/explore.h"
#include "glog/logging.h"
#include "tests/engine/crash/faulty_region.h"
#include "tests/engine/crash/faulty_store.h"
#include "tests/faults/fault.h"

namespace kamino::engine::crash {
namespace {

constexpr uint64_t kSeedsToMeet = 100;

}  // namespace

Trial RunWithFault(const PlantedFault& fault, uint64_t seeds) {
  const Scheme* scheme = nullptr;
  for (const Scheme& one : Schemes()) {
    if (one.name == fault.scheme) scheme = &one;
  }
  CHECK(scheme != nullptr) << fault.scheme;
  check_intents = false;  // the harness is to notice by itself
  RunOptions options;
  options.explorer.pages = fault.pages;
  options.explorer.at_start = [&fault] { faults::PlantFault(fault.name); };
  options.explorer.decorate = [&fault](Region* memory, size_t area) {
    return MakeFaultyRegion(fault.name, area, memory);
  };
  const Scheme faulty = WithFaultyStore(*scheme);
  bool met = fault.name.empty();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    faults::PlantFault("");
    const RunResult result = Run(faulty, seed, options);
    met |= faults::PlantedFaultWasMet();
    if (!result.failure.empty()) {
      return {/*noticed=*/met,
              absl::StrCat("seed ", seed, ", ", result.counts.images,
                           " images\n", result.failure)};
    }
    if (!met && seed == kSeedsToMeet) {
      return {/*noticed=*/false,
              absl::StrCat("no seed up to ", seed, " came by the fault")};
    }
  }
  return {};
}

}  // namespace kamino::engine::crash
