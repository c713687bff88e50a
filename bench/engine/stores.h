// The schemes that take part, and how a store of each is opened for a bench:
// the only place that knows them by name.
#ifndef KAMINO_BENCH_ENGINE_STORES_H_
#define KAMINO_BENCH_ENGINE_STORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/engine/staged_region.h"
#include "engine/heap/heap.h"
#include "engine/kamino/backup.h"
#include "engine/pmem/counting_region.h"
#include "engine/pmem/delay_region.h"
#include "engine/transactional_store.h"

namespace kamino::bench {

struct StoreSpec {
  std::string scheme;
  std::optional<double> alpha;  // kamino-dynamic's, of the heap's size
  // Of all its files; only where they can be watched.
  engine::PmemDelays delays = {};

  // The scheme, with its alpha if it has one.
  std::string Name() const;
  // Whether Abort takes stores back.
  bool atomic() const { return scheme != "unsafe"; }
};

// What stands between a store and its files.
enum class Watch {
  kNothing,
  kCounts,  // a CountingRegion
  kStages,  // a StagedRegion
};

// What StagedRegions do: the heap's, and the backup's.
struct DoneStages {
  StagedRegion::Does heap = StagedRegion::Does::kAll;
  StagedRegion::Does backup = StagedRegion::Does::kAll;
};

struct OpenedStore {
  std::unique_ptr<engine::TransactionalStore> store;
  const engine::Heap* heap = nullptr;  // null where there is none of ours
  // Empty where there is no backup.
  std::function<engine::BackupStats()> backup;
  // Empty where nothing is counted.
  std::function<engine::PmemCounts()> counts;
  // Of those, what is done beside transactions (BackgroundWork).
  std::function<engine::PmemCounts()> background_counts;
  // With Watch::kStages; while no transaction is live.
  std::function<void(const DoneStages&)> do_stages;
};

// Every scheme this build has, kamino-simple first.
std::vector<StoreSpec> AllStores();
// Those whose transactions are.
std::vector<StoreSpec> AtomicStores();

// Those that take part where they are asked for: REWIND's other configurations.
std::vector<StoreSpec> MoreStores();

// Whether its stores to the medium can be watched: libpmemobj's cannot.
bool CanWatch(const StoreSpec& spec);

// A new, empty store that can hold `bytes` of objects, headers included. Its
// files are called `path` and something, and are unlinked already: the space
// comes back when the store is closed, however that happens. `watch` is
// ignored where the scheme cannot be.
absl::StatusOr<OpenedStore> OpenForBench(const StoreSpec& spec,
                                         const std::string& path,
                                         uint64_t bytes, Watch watch);

// Bytes of files that such a store takes.
uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STORES_H_
