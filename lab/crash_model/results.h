// Rows as JSON and as a table. lab/docs/schemes.md describes them.
#ifndef KAMINO_LAB_CRASH_MODEL_RESULTS_H_
#define KAMINO_LAB_CRASH_MODEL_RESULTS_H_

#include <string>
#include <vector>

#include "bench/harness/json.h"
#include "lab/crash_model/crash_model.h"

namespace kamino::bench::crash_model {

struct QueueRow {
  double queue = 1;  // its length, in caches
  CrashRow row;
};

// One object: "facts", and "rows", a list with an object for each, one to a
// line.
std::string ToJson(const Facts& facts, const std::vector<QueueRow>& rows);

// A line for each.
std::string ToTable(const std::vector<QueueRow>& rows);

}  // namespace kamino::bench::crash_model

#endif  // KAMINO_LAB_CRASH_MODEL_RESULTS_H_
