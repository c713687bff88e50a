// Pieces of what results are written as.
#ifndef KAMINO_BENCH_ENGINE_TEXT_H_
#define KAMINO_BENCH_ENGINE_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "bench/engine/workload.h"

namespace kamino::bench {

// A table; the first line is the head.
using Grid = std::vector<std::vector<std::string>>;

// As lines of text, names to the left, numbers to the right.
std::string Render(const Grid& grid);

// For people.
std::string CellTitle(const Cell& cell);

// For JSON: a string of ours, without what would not do as it is, and a number
// or null.
std::string Quote(absl::string_view text);
std::string Number(const std::optional<double>& value);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_TEXT_H_
