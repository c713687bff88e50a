// The schemes that take part, and how a store of each is opened for a bench:
// the only place that knows them by name.
#ifndef KAMINO_BENCH_ENGINE_STORES_H_
#define KAMINO_BENCH_ENGINE_STORES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/kamino/backup.h"
#include "engine/pmem/counting_region.h"
#include "engine/transactional_store.h"

namespace kamino::bench {

struct StoreSpec {
  std::string scheme;
  absl::optional<double> alpha;  // kamino-dynamic's, of the heap's size

  // The scheme, with its alpha if it has one.
  std::string Name() const;
  // Whether Abort takes stores back.
  bool atomic() const { return scheme != "unsafe"; }
};

struct OpenedStore {
  std::unique_ptr<engine::TransactionalStore> store;
  // Empty where there is no backup.
  std::function<engine::BackupStats()> backup;
  // Empty where nothing is counted.
  std::function<engine::PmemCounts()> counts;
};

// Every scheme this build has, kamino-simple first.
std::vector<StoreSpec> AllStores();
// Those whose transactions are.
std::vector<StoreSpec> AtomicStores();

// Whether its stores to the medium can be counted: libpmemobj's cannot.
bool Counts(const StoreSpec& spec);

// A new, empty store that can hold `bytes` of objects, headers included. Its
// files are called `path` and something, and are unlinked already: the space
// comes back when the store is closed, however that happens. With `counted`
// stores to the medium are counted, where the scheme can.
absl::StatusOr<OpenedStore> OpenForBench(const StoreSpec& spec,
                                         const std::string& path,
                                         uint64_t bytes, bool counted);

// Bytes of files that such a store takes.
uint64_t FileBytes(const StoreSpec& spec, uint64_t bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_STORES_H_
