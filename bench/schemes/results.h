// Points as JSON and as a table. docs/benchmarks/schemes.md describes both.
#ifndef KAMINO_BENCH_SCHEMES_RESULTS_H_
#define KAMINO_BENCH_SCHEMES_RESULTS_H_

#include <string>
#include <vector>

#include "bench/harness/json.h"
#include "bench/schemes/part.h"

namespace kamino::bench::schemes {

// One object: "facts", and "points", a list with an object for each, one to a
// line.
std::string ToJson(const Facts& facts, const std::vector<Point>& points);

// A line for each.
std::string ToTable(const std::vector<Point>& points);

}  // namespace kamino::bench::schemes

#endif  // KAMINO_BENCH_SCHEMES_RESULTS_H_
