// The guarantees of versions, by the clients' observations alone: a version
// names one mutation, and with a key one value. Without them a comparison with
// the version of a client's own write could hold over a value that it never
// saw.
#ifndef KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/simulation/history.h"

namespace kamino::simulation {

// An object that, by an answer, exists or existed at a version.
struct VersionedValue {
  std::string key;
  std::string value;
  uint64_t version = 0;
};

// The versions in the answer of a finished record: the objects that a read or a
// commit saw, and those that a mutation put, under the version it was told.
std::vector<VersionedValue> VersionsIn(const Record& record);

//   - no two acknowledged mutations were told the same number;
//   - two answers that tell a key at the same version tell the same value;
//   - a commit whose version condition holds saw the value of that version.
absl::Status CheckVersions(const History& history);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_VERSION_CHECKER_H_
