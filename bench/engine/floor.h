// The floor of the micro suite's overwrites (Suite::MakeFloor).
#ifndef KAMINO_BENCH_ENGINE_FLOOR_H_
#define KAMINO_BENCH_ENGINE_FLOOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

// A loaded dataset whose files begin with `path`. Its workers overwrite a whole
// object of the cell's size, by bytes or by pointer; docs/benchmarks/engine.md.
absl::StatusOr<std::unique_ptr<Dataset>> MakeMicroFloor(const std::string& path,
                                                        Scale scale);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_FLOOR_H_
