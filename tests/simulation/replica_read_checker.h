// Reads that were answered by another node than the tail: what must hold of
// them beside all that checker.h looks at.
#ifndef KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_
#define KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_

#include "absl/status/status.h"
#include "tests/simulation/committed_log.h"
#include "tests/simulation/history.h"

namespace kamino::simulation {

// Such a read
//   - is as of the number that its answer names;
//   - is also as of some state that is not older than what was answered before
//     it began, nor newer than what there was when it returned. Nothing that
//     begins after it has returned is as of an older one than the first of
//     those.
// An error says which record.
absl::Status CheckReplicaReads(const History& history, const CommittedLog& log);

}  // namespace kamino::simulation

#endif  // KAMINO_TESTS_SIMULATION_REPLICA_READ_CHECKER_H_
