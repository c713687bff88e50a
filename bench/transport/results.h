// The measurements as JSON and as tables; docs/benchmarks/transport.md.
#ifndef KAMINO_BENCH_TRANSPORT_RESULTS_H_
#define KAMINO_BENCH_TRANSPORT_RESULTS_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/json.h"
#include "bench/transport/race.h"

namespace kamino::bench {

// A figure that was promised, beside what came out.
struct Target {
  std::string what;
  double wanted;
  double measured;
  bool at_most;  // else at least

  bool met() const { return at_most ? measured <= wanted : measured >= wanted; }
};

// Round trip over that of `reference` at the same size: the median of the
// rounds' ratios. Nothing when that was not there.
std::optional<double> RatioTo(const Row& row, const std::string& reference,
                              const std::vector<Row>& rows);

// Those that the measured subjects have.
std::vector<Target> Targets(const std::vector<Row>& rows,
                            const std::vector<IdleRow>& idle);

std::string ToJson(const Facts& facts, const std::vector<Row>& rows,
                   const std::vector<IdleRow>& idle);
std::string ToTables(const std::vector<Row>& rows,
                     const std::vector<IdleRow>& idle);

}  // namespace kamino::bench

#endif  // KAMINO_BENCH_TRANSPORT_RESULTS_H_
