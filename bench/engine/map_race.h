// YCSB A, B, C and F on all maps in turn, so that other load on the machine
// affects all maps alike. An update writes one field of the record,
// or the whole record.
#ifndef KAMINO_BENCH_ENGINE_MAP_RACE_H_
#define KAMINO_BENCH_ENGINE_MAP_RACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bench/engine/pool_folder.h"
#include "bench/engine/race.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

struct MapScale {
  uint64_t hot_records = 0;
  uint64_t large_records = 0;  // four times what the last-level cache holds
};
MapScale MapScaleOf(Scale scale);

// The engine's stores first, then the rivals.
std::vector<std::string> AllMaps();

// "maps/" and the names of these are what RaceOptions::wanted is asked for.
std::vector<Cell> MapCells();

// Adds a row for each wanted cell and map of `maps`, which are names of
// AllMaps. All maps of a size are open at once. Of libpmemobj's maps, only the
// fastest that is ordered and the fastest that hashes run the large size, by
// the geometric mean of their speeds in all cells of the hot size; all maps run
// it if no cell of the hot size was measured. kResourceExhausted: memory does
// not suffice.
absl::Status RunMaps(const MapScale& scale,
                     const std::vector<std::string>& maps, PoolFolder& folder,
                     const RaceOptions& options,
                     const std::function<void(const std::string&)>& progress,
                     std::vector<Row>* rows);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_MAP_RACE_H_
