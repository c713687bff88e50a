// The engine's B+tree (engine/index/key_value.h) over one of its stores.
#ifndef KAMINO_BENCH_ENGINE_ENGINE_MAP_H_
#define KAMINO_BENCH_ENGINE_ENGINE_MAP_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/engine/store_spec.h"
#include "bench/maps/bench_map.h"

namespace kamino::bench {

absl::StatusOr<std::unique_ptr<BenchMap>> MakeEngineMap(const StoreSpec& spec,
                                                        const std::string& path,
                                                        uint64_t records,
                                                        uint32_t record_bytes);

// Bytes of objects that so many records take.
uint64_t EngineMapBytes(uint64_t records, uint32_t record_bytes);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_ENGINE_MAP_H_
