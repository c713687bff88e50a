// Results as JSON and as text; docs/benchmarks/connections.md.
#ifndef KAMINO_BENCH_CONNECTIONS_RESULTS_H_
#define KAMINO_BENCH_CONNECTIONS_RESULTS_H_

#include <string>
#include <vector>

#include "bench/connections/measure.h"
#include "bench/harness/json.h"

namespace kamino::bench::connections {

std::string ToJson(const Facts& facts, const MeasureOptions& options,
                   const std::vector<Round>& rounds);
// A paragraph for each round.
std::string ToText(const MeasureOptions& options,
                   const std::vector<Round>& rounds);

}  // namespace kamino::bench::connections

#endif  // KAMINO_BENCH_CONNECTIONS_RESULTS_H_
