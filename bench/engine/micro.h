// Single operations on objects: the costs that everything else is made of.
#ifndef KAMINO_BENCH_ENGINE_MICRO_H_
#define KAMINO_BENCH_ENGINE_MICRO_H_

#include <memory>

#include "bench/engine/workload.h"

namespace kamino::bench {

// docs/benchmarks/engine.md says what each cell is.
std::unique_ptr<Suite> MakeMicroSuite(Scale scale);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_MICRO_H_
