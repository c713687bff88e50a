// Tables of text.
#ifndef KAMINO_BENCH_HARNESS_TABLE_H_
#define KAMINO_BENCH_HARNESS_TABLE_H_

#include <string>
#include <vector>

namespace kamino::bench {

// A table; the first line is the head.
using Grid = std::vector<std::vector<std::string>>;

// As lines of text, names to the left, numbers to the right.
std::string Render(const Grid& grid);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_HARNESS_TABLE_H_
