// Pieces of what results are written as.
#ifndef KAMINO_BENCH_ENGINE_TEXT_H_
#define KAMINO_BENCH_ENGINE_TEXT_H_

#include <string>

#include "bench/engine/workload.h"
#include "bench/harness/table.h"

namespace kamino::bench {

// For people.
std::string CellTitle(const Cell& cell);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_TEXT_H_
