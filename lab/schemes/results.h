// Points as JSON and as a table. lab/docs/schemes.md describes both.
#ifndef KAMINO_LAB_SCHEMES_RESULTS_H_
#define KAMINO_LAB_SCHEMES_RESULTS_H_

#include <string>
#include <vector>

#include "bench/harness/json.h"
#include "lab/schemes/part.h"

namespace kamino::bench::schemes {

// One object: "facts", and "points", a list with an object for each, one to a
// line.
std::string ToJson(const Facts& facts, const std::vector<Point>& points);

// A line for each.
std::string ToTable(const std::vector<Point>& points);

}  // namespace kamino::bench::schemes

#endif  // KAMINO_LAB_SCHEMES_RESULTS_H_
