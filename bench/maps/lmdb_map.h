// LMDB: integer keys, a writable map of the file, a synchronous commit for each
// transaction, and one read transaction that is renewed.
#ifndef KAMINO_BENCH_MAPS_LMDB_MAP_H_
#define KAMINO_BENCH_MAPS_LMDB_MAP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/maps/bench_map.h"

namespace kamino::bench {

absl::StatusOr<std::unique_ptr<BenchMap>> MakeLmdbMap(const std::string& path,
                                                      uint64_t records,
                                                      uint32_t record_bytes);

uint64_t LmdbMapBytes(uint64_t records, uint32_t record_bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_MAPS_LMDB_MAP_H_
