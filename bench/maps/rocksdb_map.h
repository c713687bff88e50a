// RocksDB: a synchronous write-ahead log, filters on tables, and values read in
// place (PinnableSlice). Its files lie in a folder.
#ifndef KAMINO_BENCH_MAPS_ROCKSDB_MAP_H_
#define KAMINO_BENCH_MAPS_ROCKSDB_MAP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/maps/bench_map.h"

namespace kamino::bench {

absl::StatusOr<std::unique_ptr<BenchMap>> MakeRocksdbMap(
    const std::string& path, uint64_t records, uint32_t record_bytes);

// Files and memory.
uint64_t RocksdbMapBytes(uint64_t records, uint32_t record_bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_MAPS_ROCKSDB_MAP_H_
