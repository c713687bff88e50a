// The maps of libpmemobj's examples, in C, by their common interface: integer
// keys, and a value that is an object. An update is a transaction that adds the
// range to libpmemobj's undo log and stores to it, as the library's
// documentation recommends for fields in place.
#ifndef KAMINO_BENCH_MAPS_PMEMOBJ_MAP_H_
#define KAMINO_BENCH_MAPS_PMEMOBJ_MAP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "bench/maps/bench_map.h"

namespace kamino::bench {

// "pmemobj-btree", "pmemobj-hashmap-tx", ...
std::vector<std::string> PmemobjMaps();

absl::StatusOr<std::unique_ptr<BenchMap>> MakePmemobjMap(
    absl::string_view name, const std::string& path, uint64_t records,
    uint32_t record_bytes);

uint64_t PmemobjMapBytes(uint64_t records, uint32_t record_bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_MAPS_PMEMOBJ_MAP_H_
