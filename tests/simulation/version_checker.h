// What versions promise, by the clients' word alone: a version names one
// mutation, and with a key one value. Without it a comparison with the version
// that one's own write was told holds over a value that one never saw.
#ifndef KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/history.h"

namespace kamino::simulation {

// An object as an answer says that it is, or was, at a version.
struct VersionedValue {
  std::string key;
  std::string value;
  uint64_t version = 0;
};

// What the answer of a record that is done tells: of a read or a commit what it
// saw, of a mutation also what it has put, under the version it was told.
std::vector<VersionedValue> VersionsIn(const Record& record);

//   - no two acknowledged mutations were told the same number;
//   - whoever tells of a key at a version tells of the same value;
//   - a commit that holds by a version saw the value of that version.
absl::Status CheckVersions(const History& history);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_
