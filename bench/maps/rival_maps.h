// The rivals' maps, by name.
#ifndef KAMINO_BENCH_MAPS_RIVAL_MAPS_H_
#define KAMINO_BENCH_MAPS_RIVAL_MAPS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/maps/bench_map.h"

namespace kamino::bench {

// "pmemobj-btree" and the other maps of libpmemobj's examples, "lmdb" and
// "rocksdb".
std::vector<std::string> RivalMaps();

// Makes an empty map of that name for so many records of `record_bytes`, in
// files that begin with `path`, or in a folder of that name.
absl::StatusOr<std::unique_ptr<BenchMap>> MakeRivalMap(const std::string& name,
                                                       const std::string& path,
                                                       uint64_t records,
                                                       uint32_t record_bytes);

// Bytes of files that such a map takes.
uint64_t RivalMapBytes(const std::string& name, uint64_t records,
                       uint32_t record_bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_MAPS_RIVAL_MAPS_H_
