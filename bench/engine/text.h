// Pieces of what results are written as.
#ifndef KAMINO_BENCH_ENGINE_TEXT_H_
#define KAMINO_BENCH_ENGINE_TEXT_H_

#include <string>
#include <vector>

#include "bench/engine/workload.h"

namespace kamino::bench {

// A table; the first line is the head.
using Grid = std::vector<std::vector<std::string>>;

// As lines of text, names to the left, numbers to the right.
std::string Render(const Grid& grid);

// For people.
std::string CellTitle(const Cell& cell);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_TEXT_H_
