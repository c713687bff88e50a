// The measurements as JSON and as tables. docs/benchmarks/engine.md describes
// both.
#ifndef KAMINO_BENCH_ENGINE_RESULTS_H_
#define KAMINO_BENCH_ENGINE_RESULTS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/engine/breakdown.h"
#include "bench/engine/race.h"
#include "bench/harness/json.h"

namespace kamino::bench {

// Median over the rounds.
double Throughput(const Row& row);

// Throughput of the row over that of `scheme` in the same cell; nothing when
// that was not there.
std::optional<double> RatioTo(const Row& row, const std::string& scheme,
                              const std::vector<Row>& rows);

// Least and largest of the same ratio within a round; both schemes ran each
// round within one turn.
std::optional<std::pair<double, double>> RatioRange(
    const Row& row, const std::string& scheme, const std::vector<Row>& rows);

// One object: the bench's name, "facts", "measurements" and "breakdown", lists
// with an object for each row, a row to a line.
std::string ToJson(const std::string& bench, const Facts& facts,
                   const std::vector<Row>& rows,
                   const std::vector<BreakdownRow>& breakdown);

// For each suite: throughput with spread and ratios, latencies, flushes.
std::string ToTables(const std::vector<Row>& rows);

// A line for each row, a column for each part.
std::string ToTable(const std::vector<BreakdownRow>& rows);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_ENGINE_RESULTS_H_
