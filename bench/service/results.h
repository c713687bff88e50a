// The measurements as JSON and as tables; docs/benchmarks/service.md.
#ifndef KAMINO_BENCH_SERVICE_RESULTS_H_
#define KAMINO_BENCH_SERVICE_RESULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/json.h"
#include "bench/service/race.h"
#include "bench/service/subjects.h"

namespace kamino::bench::service {

// Medians over the turns.
struct Medians {
  double per_second = 0, offered = 0;
  double p50 = 0, p99 = 0, p999 = 0, p9999 = 0, most = 0;
  double worst = 0;   // the largest of all turns
  double spread = 0;  // of per_second
  double lateness_p50 = 0, lateness_p99 = 0;
  double mean = 0, writes_p50 = 0, writes_mean = 0;
  double others = 0, foreign = 0, steal = 0, idle = 0;
  std::vector<RoleTime> processor_time;
  uint64_t operations = 0;  // of all turns, together
};
Medians MediansOf(const Row& row);

// A row's medians over those of another subject in the same cell.
struct Ratios {
  double per_second;
  double p50;
  double p99;
};
// Nothing: that one did not run there, or nothing went well.
std::optional<Ratios> RatiosTo(const Row& row, const std::string& subject,
                               const std::vector<Row>& rows);

// The names of all subjects, in order.
std::vector<std::string> SubjectsOf(const std::vector<Row>& rows);

uint64_t ErrorsOf(const std::vector<Row>& rows);

std::string ToJson(const Facts& facts, const std::vector<SubjectSpec>& specs,
                   const std::vector<Row>& rows);
// Ratios are to `rival`, where it is one of the subjects.
std::string ToTables(const std::vector<SubjectSpec>& specs,
                     const std::vector<Row>& rows, const std::string& rival);

}  // namespace kamino::bench::service

#endif  // KAMINO_BENCH_SERVICE_RESULTS_H_
