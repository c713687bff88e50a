// How a store of each scheme is opened for a bench.
#ifndef KAMINO_BENCH_ENGINE_STORES_H_
#define KAMINO_BENCH_ENGINE_STORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/engine/dirtiness_region.h"
#include "bench/engine/staged_region.h"
#include "bench/engine/store_spec.h"
#include "engine/heap/heap.h"
#include "engine/kamino/undo_copy.h"
#include "engine/pmem/counting_region.h"
#include "engine/transactional_store.h"

namespace kamino::bench {

// The region between a store and its files.
enum class Watch {
  kNothing,
  kCounts,     // a CountingRegion
  kStages,     // a StagedRegion
  kDirtiness,  // a DirtinessRegion
};

// The operations that the StagedRegions of the heap and of the undo copy
// perform.
struct DoneStages {
  StagedRegion::Does heap = StagedRegion::Does::kAll;
  StagedRegion::Does undo_copy = StagedRegion::Does::kAll;
};

struct OpenedStore {
  std::unique_ptr<engine::TransactionalStore> store;
  const engine::Heap* heap = nullptr;  // null where there is none of ours
  // Empty where there is no undo copy.
  std::function<engine::UndoCopyStats()> undo_copy;
  // Empty where nothing is counted.
  std::function<engine::PmemCounts()> counts;
  // The part of these that is done beside transactions (BackgroundWork).
  std::function<engine::PmemCounts()> background_counts;
  // With Watch::kDirtiness: of the heap's lines that belong to objects.
  std::function<Dirtiness()> dirtiness;
  // The scheme's own counts by name, since it was opened. Empty where it has
  // none.
  std::function<std::vector<std::pair<std::string, double>>()> details;
  // With StoreSpec::drains_vary. One of libpmemobj's stores sets it for all of
  // them. Empty where it cannot be slowed.
  std::function<void(uint64_t nanos)> set_drain_ns;
  // With Watch::kStages; while no transaction is live.
  std::function<void(const DoneStages&)> do_stages;
};

// Whether its stores to the medium can be watched: libpmemobj's cannot.
bool CanWatch(const StoreSpec& spec);
// Whether pmem_shim.h's library was preloaded: then libpmemobj's can be counted
// and slowed, all stores of the process alike.
bool HasPmemShim();
// Watch::kCounts, and StoreSpec::delays.
bool CanCount(const StoreSpec& spec);
// Stops writing libpmemobj's stores back, or resumes it, to measure its logging
// apart from flushes. Needs HasPmemShim().
void DropPmemobjFlushes(bool drop);

// A new, empty store that can hold `bytes` of objects, headers included. Its
// files are called `path` and something, and are unlinked already: the space is
// free when the store is closed, however that happens. `watch` is ignored where
// the scheme cannot be watched.
absl::StatusOr<OpenedStore> OpenForBench(const StoreSpec& spec,
                                         const std::string& path,
                                         uint64_t bytes, Watch watch);

// Opens, in files called `path`, what a crash at this moment would leave if all
// that is stored survived it, and measures the opening. Supports stores without
// an undo copy that are "alone" (StoreSpec::alone), while no call is in
// progress; else kUnimplemented. Files as OpenForBench's.
struct Reopened {
  OpenedStore opened;
  double nanos = 0;
};
absl::StatusOr<Reopened> ReopenAfterCrash(const StoreSpec& spec,
                                          const OpenedStore& crashed,
                                          const std::string& path);

// Bytes of files that such a store takes.
uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STORES_H_
